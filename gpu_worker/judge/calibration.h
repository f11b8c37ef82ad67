// What a bracket holds besides the call: the switch of the GPU there and back, the wake-up, the probe.
//
// It is measured as the bracket of null calls, less the time that these took by their own clock, of children that have run our code only:
// of the submission child before it loads anything, and of a calibrator, which never runs anything else, before and after the trials. The
// mean of the three is taken off every sample; the calibrator's two tell how far the overhead has moved meanwhile.
#pragma once

#include <memory>

#include "gpu_worker/judge/ending.h"

namespace kq::judge {

// The null calls of a calibration. On a GPU their spread is about 1.5 us, so that the median is good to 0.4 us.
inline constexpr int kNullCalls = 20;
// Of the calibrator, each time: there are two of these. And where nothing will be timed, to know how long a call may be absent.
inline constexpr int kNullCallsBeside = 10;

struct Overhead {
  double median_ns = 0;
  std::int64_t absence_ns = 0;  // Device::absence_ns at most: what a call may show when nobody else is on the device
};

// What a null call writes at most: the largest caches there are, twice.
inline constexpr std::uint64_t kTouchBytesMax = 256ull << 20;

// For calls that touch so many bytes: on an H200 the way back to the judge takes 2 to 6 us longer after a call that has filled the cache.
// `doing.phase` is setup: the child runs our code only.
Step<Overhead> calibrate(Device& device, Child& child, const Doing& doing, int calls, std::uint64_t touch_bytes, std::int64_t limit_ms);

class Calibrator {
 public:
  static Step<std::unique_ptr<Calibrator>> open(Device& device, Fd channel, Exits& exits, Waiting waiting);
  Step<Overhead> calibrate(std::uint64_t touch_bytes, std::int64_t limit_ms);

 private:
  Calibrator(Device& device, std::unique_ptr<Child> child) : device_(device), child_(std::move(child)) {}

  Device& device_;
  std::unique_ptr<Child> child_;
};

}  // namespace kq::judge
