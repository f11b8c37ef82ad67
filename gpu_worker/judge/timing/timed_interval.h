// The timed interval of one command, and what belongs around it.
//
//   stage the call | prepare | flush, spin for a random time | go ... launched | stop the spin ... done | probe | take
//                                                                              ^ t0                             ^ t2
//   sample = (t2 - t0) - overhead
//
// On a GPU the judge's own kernels occupy the device from `prepare` until the child reports that it has launched the
// work of the call, or for as long as an honest host may take for that. Work of another process in this time leaves a
// gap in the occupancy (Device::occupancy_gap_ns). So the call's launches are queued when the GPU switches to the
// child, as they are in any busy stream: the interval measures the work, and not how fast a host that has just woken
// launches it. Without a GPU t0 is `go`.
//
// The interval ends at t2, when one word of the judge's own work has run on the device after the child said that it is
// done. Whatever the child left running has run before that word, and whatever it launches later runs after the outputs
// are copied. So a child gains nothing by saying done early. The price of switching the GPU to the child and back is in
// every interval; the overhead (calibration.h) is the same interval around a null call.
#pragma once

#include <cstdint>
#include <functional>

#include "gpu_worker/judge/child/child.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

// The time that a call's launches may take before the interval begins without them. The switch to the child takes 140
// us more (H200). Where a host launches more slowly, the interval includes the rest of its launches.
//
// On an H200 the launches of a model of six torch operations take 0.22 ms in the median, 0.4 ms in one call of twenty,
// and less than 0.8 ms in each of 3,000 calls. The limit must stay below the GPU's time slice of 2.4 ms, which begins
// with the first work that the judge queues before `go`: at its end the judge would lose the GPU.
inline constexpr std::int64_t kLaunchNs = 1'000'000;

// What the caller does before and after the timed interval of one command. On the device the hooks may use copy() and
// fill() only.
struct IntervalHooks {
  // Runs before the caches are flushed.
  std::function<Expected<void>()> prepare = {};
  // Runs after an ok answer, while no other process can have used the device since t2.
  std::function<Expected<void>(const Answered&)> take = {};
};

// Let the child prepare a command outside of the timed interval. begin_staging() returns at once, and the caller ends
// the staging with Child::finish(). Staging does not tell the child the seed of the call: a child that knew the seed
// could draw its random numbers before the interval.
void begin_staging(Child& child, const CommandRequest& request);
Expected<Outcome> stage(Child& child, const CommandRequest& request);

// Gives one staged command and measures its timed interval.
Expected<Outcome> time_command(Device& device, Child& child, const CommandRequest& request, const IntervalHooks& hooks);

// Returns a sample: the interval less the overhead, at least 1 ns.
std::int64_t sample_ns(std::int64_t interval_ns, double overhead_ns);

}  // namespace kq::judge
