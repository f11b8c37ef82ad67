// The clock: the interval that counts for a submission, and what of it is not the submission's.
//
//   stage the call | prepare | evict | hold, for a random time | go ... launched | release ... done | probe | take
//                                                                                ^ t0                      ^ t2 sample
//                                                                                = (t2 - t0) - overhead
//
// On a GPU the judge's own work keeps the device from `prepare` until the child says that it has launched what the call
// launches, or for so long as an honest host may take for it: whoever else ran there meanwhile left a gap in it
// (Device::occupancy_gap_ns). So a call's launches are queued when the GPU switches to them, as they are in any stream
// that is busy: what is measured is the work, and not how fast a host that has just woken launches it. Without a GPU t0
// is `go`. t2 comes when a word of the judge's own has run there after the child said done: whatever the child left
// running ran before it, and what it launches later runs after the outputs were taken. So saying done early gains
// nothing, and the price of switching the GPU there and back is in every bracket; the overhead is the same interval
// around a null call of a child that has run our code only (calibration.h).
#pragma once

#include <cstdint>
#include <functional>

#include "gpu_worker/judge/child/child.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

// Launches may take so long, and 140 us more for the switch to the child (H200), before any of it is measured. A host
// that is slower is what is measured.
//
// A model of six operations of torch takes 0.22 ms there in the median, 0.4 in one call of twenty, and never took 0.8
// in 3,000. With 0.15 ms a fifth of its calls were measured while it launched, and of 160 jobs nine times or references
// were 1.45 to 2.7 times too long. The judge would lose the GPU when its slice ends, 2.4 ms after the first of what it
// does around `go`.
inline constexpr std::int64_t kLaunchNs = 1'000'000;

// What is done around one command, on the device by copy() and fill() alone.
struct IntervalHooks {
  std::function<Expected<void>()> prepare = {};  // before the caches are emptied
  std::function<Expected<void>(const Answered&)> take =
      {};  // after an ok answer, while nobody else can have run since t2
};

// What a command needs and is not part of it; its end is Child::finish(). The seed of a call is no part of that:
// whoever knew it would draw ahead of the clock.
void begin_staging(Child& child, const Order& order);
Expected<Outcome> stage(Child& child, const Order& order);

// One command under the clock, once it is staged.
Expected<Outcome> time_command(Device& device, Child& child, const Order& order, const IntervalHooks& hooks);

// What a sample is: the bracket less the overhead, at least 1 ns.
std::int64_t sample_ns(std::int64_t interval_ns, double overhead_ns);

}  // namespace kq::judge
