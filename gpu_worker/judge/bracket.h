// The clock: the interval that counts for a submission, and what of it is not the submission's.
//
//   stage the call | prepare | evict | hold, for a random time | go ... launched | release ... done | probe | take
//                                                                                ^ t0                      ^ t2        sample = (t2 - t0) - overhead
//
// On a GPU the judge's own work keeps the device from `prepare` until the child says that it has launched what the call launches, or for so long
// as an honest host may take for it: whoever else ran there meanwhile left a gap in it
// (Device::absence_ns). So a call's launches are queued when the GPU switches to them, as they are in any stream that is busy: what is measured is the
// work, and not how fast a host that has just woken launches it. Without a GPU t0 is `go`. t2 comes when a word of the judge's own has run there after the child said done: whatever the child left running
// ran before it, and what it launches later runs after the outputs were taken. So saying done early gains nothing, and the price of
// switching the GPU there and back is in every bracket; the overhead is the same interval around a null call of a child that has run our
// code only (calibration.h).
#pragma once

#include <cstdint>
#include <functional>

#include "gpu_worker/judge/child.h"
#include "gpu_worker/judge/device.h"

namespace kq::judge {

// Launches may take 0.3 ms before any of it is measured: so long, and then the switch to the child takes 140 us (H200). A host that is slower is what is measured.
inline constexpr std::int64_t kLaunchNs = 150'000;

// What is done around one command, on the device by copy() and fill() alone.
struct Around {
  std::function<Expected<void>()> prepare = {};              // before the caches are emptied
  std::function<Expected<void>(const Answered&)> take = {};  // after an ok answer, while nobody else can have run since t2
  std::int64_t launch_ns = kLaunchNs;                        // how long the device is kept for what the call launches
};

// What a command needs and is not part of it, under that seed; its end is Child::finish().
void begin_staging(Child& child, const Order& order, std::uint64_t seed);
Expected<Outcome> stage(Child& child, const Order& order, std::uint64_t seed);

// One command under the clock, once it is staged.
Expected<Outcome> bracket(Device& device, Child& child, const Order& order, const Around& around);

// What a sample is: the bracket less the overhead, at least 1 ns.
std::int64_t sample_ns(std::int64_t bracket_ns, double overhead_ns);

}  // namespace kq::judge
