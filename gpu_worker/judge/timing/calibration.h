// The overhead of a timed interval: what the interval holds besides the call. On a GPU that is the switch to the
// child's context and back, the child's wake-up and the judge's probe.
//
// The overhead is measured as the timed interval of null calls, less the time that these take by the child's own clock.
// Null calls are made by children that have run kq's own code only: by the submission child before it loads the
// submission, and by a calibrator child, which never runs anything else, before and after the trials. The mean of the
// three calibrations (common_overhead_ns) is subtracted from every sample. The difference between the calibrator's two
// is the drift of the overhead during the trials. The calibration after one attempt serves as the one before the next
// attempt on the same problem.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "gpu_worker/judge/child/failure.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

// The number of null calls in a calibration. On a GPU their spread is about 1.5 us, so the mean of three medians is
// good to 0.4 us, and one null call takes 1 ms. With five null calls, one of twenty repeats of a job was 8 % off.
inline constexpr int kNullCalls = 7;
// A child of kq that creates its CUDA context or exits may lengthen some null calls by 16 us and more (H200). Null
// calls within this distance of each other count as free of outliers, where they are the majority.
inline constexpr std::int64_t kClusterNs = 15'000;
// Where no such majority exists, the null calls are repeated this often without waiting, 4 ms each time. Only then the
// judge waits for the other child, which may take 50 to 300 ms.
inline constexpr int kRecalibrationsMax = 2;
// A calibration of the calibrator is not used again after this time.
inline constexpr std::int64_t kCalibrationAgeMaxNs = 5'000'000'000;
// Between the workloads of one attempt a calibration serves for all workloads that are timed within this time, because
// it takes longer than a small workload's trials.
inline constexpr std::int64_t kCalibrationAgeAmongNs = 200'000'000;
// Workloads of at most this size share their calibrations: only calls that fill a GPU's cache have another overhead.
inline constexpr std::uint64_t kTouchBytesSmall = 4ull << 20;

struct Overhead {
  double median_ns = 0;
  // The lower quartile of Device::occupancy_gap_ns(): children that warm up lengthen some gaps.
  std::int64_t occupancy_gap_ns = 0;
};

// The most bytes that a null call writes: twice the largest cache of a GPU.
inline constexpr std::uint64_t kTouchBytesMax = 256ull << 20;

// Measures the overhead of calls that touch `touch_bytes` of memory: on an H200 the switch back to the judge takes 2 to
// 6 us longer after a call that has filled the cache. `activity.phase` must be Phase::setup, since the child runs kq's
// own code only.
Step<Overhead> calibrate(Device& device, Child& child, const ChildActivity& activity, std::uint64_t touch_bytes,
                         std::int64_t limit_ms);

// Returns the median of the largest group of intervals that lie within kClusterNs. Returns nothing where that group is
// not the majority.
std::optional<double> median_without_outliers_ns(std::span<const std::int64_t> intervals_ns);

// The three calibrations of one job differ by 2 us (standard deviation of 84 jobs on an H200), mostly by chance. A
// calibration that differs from the middle one by more than this has had outliers from its first call to its last.
inline constexpr double kCalibrationOutlierNs = 8'000;

// Returns the overhead that is subtracted from every sample: the mean of the medians within kCalibrationOutlierNs of
// the middle one.
double common_overhead_ns(std::array<double, 3> medians_ns);

// Returns the overhead, or what the reference's calls show of it where that is less by more than kCalibrationOutlierNs:
// a machine that was busy during the calibrations and not during the trials would otherwise make samples of calls that
// are shorter than the overhead 1 ns long. The reference's own times are not a submission's to forge. `intervals_ns`
// and `events_ns` belong to the same calls; without them, or where a time is not positive, the overhead is returned.
double overhead_within_calls_ns(double overhead_ns, std::span<const std::int64_t> intervals_ns,
                                std::span<const std::int64_t> events_ns);

// A child that makes null calls for all attempts and runs kq's own code only.
class Calibrator {
 public:
  static Step<std::unique_ptr<Calibrator>> open(Device& device, sys::Fd channel, Exits& exits, WaitMode wait_mode);
  Step<Overhead> calibrate(std::uint64_t touch_bytes, std::int64_t limit_ms);
  // Returns the last calibration where it was for the same number of bytes and is younger than `age_max_ns`. Otherwise
  // calibrates.
  Step<Overhead> reuse_or_calibrate(std::uint64_t touch_bytes, std::int64_t limit_ms,
                                    std::int64_t age_max_ns = kCalibrationAgeMaxNs);

 private:
  Calibrator(Device& device, std::unique_ptr<Child> child) : device_(device), child_(std::move(child)) {}

  Device& device_;
  std::unique_ptr<Child> child_;
  Overhead last_;
  std::uint64_t last_touch_bytes_ = 0;
  std::optional<std::int64_t> last_ns_;  // when last_ was measured; nothing before the first time
};

}  // namespace kq::judge
