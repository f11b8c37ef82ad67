// The clock: the interval that counts for a submission, and what of it is not the submission's.
//
//   stage the call | prepare | evict | hold, for a random time | go, release ... done | probe | take
//                                                              ^ t0                          ^ t2        sample = (t2 - t0) - overhead
//
// On a GPU the judge's own work keeps the device from `prepare` until `go`: whoever else ran there meanwhile left a gap in it
// (Device::absence_ns). t2 comes when a word of the judge's own has run there after the child said done: whatever the child left running
// ran before it, and what it launches later runs after the outputs were taken. So saying done early gains nothing, and the price of
// switching the GPU there and back is in every bracket; the overhead is the same interval around a null call of a child that has run our
// code only (calibration.h).
#pragma once

#include <cstdint>
#include <functional>

#include "gpu_worker/judge/child.h"
#include "gpu_worker/judge/device.h"

namespace kq::judge {

// What is done around one command, on the device by copy() and fill() alone.
struct Around {
  std::function<Expected<void>()> prepare = {};              // before the caches are emptied
  std::function<Expected<void>(const Answered&)> take = {};  // after an ok answer, while nobody else can have run since t2
  std::int64_t linger_ns = 0;                                // more than usual: it is in the bracket to the nanosecond
};

// What a command needs and is not part of it, under that seed; its end is Child::finish().
void begin_staging(Child& child, const Order& order, std::uint64_t seed);
Expected<Outcome> stage(Child& child, const Order& order, std::uint64_t seed);

// One command under the clock, once it is staged.
Expected<Outcome> bracket(Device& device, Child& child, const Order& order, const Around& around);

// What a sample is: the bracket less the overhead, at least 1 ns.
std::int64_t sample_ns(std::int64_t bracket_ns, double overhead_ns);

}  // namespace kq::judge
