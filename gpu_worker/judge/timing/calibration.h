// What a bracket holds besides the call: the switch of the GPU there and back, the wake-up, the probe.
//
// It is measured as the bracket of null calls, less the time that these took by their own clock, of children that have
// run our code only: of the submission child before it loads anything, and of a calibrator, which never runs anything
// else, before and after the trials. The mean of the three (common_overhead_ns) is taken off every sample; the
// calibrator's two tell how far the overhead has moved meanwhile. What it took after one attempt is what it takes
// before the next one on the same problem.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "gpu_worker/judge/child/failure.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

// The null calls of a calibration. On a GPU their spread is about 1.5 us, so the mean of three medians is good to 0.4
// us, and one takes 1 ms. With five of them one of twenty repeats of a job was 8 % off.
inline constexpr int kNullCalls = 7;
// A child of ours that makes its context, or goes, may disturb some of them, by 16 us and more (H200). Those that lie
// so close together are undisturbed where they are the most.
inline constexpr std::int64_t kClusterNs = 15'000;
// So often they are made again at once where there is no such group: 4 ms, and who is waited for may stay for 50 or
// 300.
inline constexpr int kRecalibrationsMax = 2;
// A calibration of the calibrator that is as old as this is made again.
inline constexpr std::int64_t kCalibrationAgeMaxNs = 5'000'000'000;

struct Overhead {
  double median_ns = 0;
  std::int64_t occupancy_gap_ns =
      0;  // the median of Device::occupancy_gap_ns: what a call may show when nobody else is on the device
};

// What a null call writes at most: the largest caches there are, twice.
inline constexpr std::uint64_t kTouchBytesMax = 256ull << 20;

// For calls that touch so many bytes: on an H200 the way back to the judge takes 2 to 6 us longer after a call that has
// filled the cache. `doing.phase` is setup: the child runs our code only.
Step<Overhead> calibrate(Device& device, Child& child, const ChildActivity& doing, std::uint64_t touch_bytes,
                         std::int64_t limit_ms);

// The median of the largest group that lies within kUndisturbedNs; nothing where that is not the most of them.
std::optional<double> median_without_outliers_ns(std::span<const std::int64_t> intervals_ns);

// Calibrations of one job differ by 2 us (a standard deviation, 84 jobs on an H200), by chance more than by anything
// else. One that lies so far from the middle one was disturbed from its first call to its last: of 160 jobs on one host
// four had an overhead that left nothing of 8 or 16 us, and none of 80 since.
inline constexpr double kCalibrationOutlierNs = 8'000;

// What is taken off every sample: the mean of those that agree with the middle one.
double common_overhead_ns(std::array<double, 3> medians_ns);

class Calibrator {
 public:
  static Step<std::unique_ptr<Calibrator>> open(Device& device, sys::Fd channel, Exits& exits, Waiting waiting);
  Step<Overhead> calibrate(std::uint64_t touch_bytes, std::int64_t limit_ms);
  // The last one, where it was one for as many bytes and is fresh; else another.
  Step<Overhead> reuse_or_calibrate(std::uint64_t touch_bytes, std::int64_t limit_ms);

 private:
  Calibrator(Device& device, std::unique_ptr<Child> child) : device_(device), child_(std::move(child)) {}

  Device& device_;
  std::unique_ptr<Child> child_;
  Overhead last_;
  std::uint64_t last_touch_bytes_ = 0;
  std::optional<std::int64_t> last_ns_;  // when it was made; nothing: never
};

}  // namespace kq::judge
