#include "gpu_worker/judge/timing/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "core/measurement.h"
#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/timing/concurrent_warm_ups.h"
#include "gpu_worker/judge/timing/timed_interval.h"

namespace kq::judge {

namespace {

struct NullCalls {
  std::array<std::int64_t, kNullCalls> intervals_ns{};
  std::array<std::int64_t, kNullCalls> occupancy_gaps_ns{};
};

Step<NullCalls> make_null_calls(Device& device, Child& child, const ChildActivity& activity, std::int64_t limit_ms) {
  NullCalls calls;
  for (std::size_t i = 0; i < kNullCalls; ++i) {
    const CommandRequest request{.command = channel::Command::null_call, .limit_ms = limit_ms};
    KQ_TRY(accept(stage(child, request), activity));
    KQ_TRY_VALUE(auto called, accept(time_command(device, child, request, {}), activity));
    calls.intervals_ns[i] = called.interval_ns - called.event_ns;
    calls.occupancy_gaps_ns[i] = device.occupancy_gap_ns();
  }
  return calls;
}

}  // namespace

std::optional<double> median_without_outliers_ns(std::span<const std::int64_t> intervals_ns) {
  std::vector<std::int64_t> sorted(intervals_ns.begin(), intervals_ns.end());
  std::ranges::sort(sorted);
  std::span<const std::int64_t> most;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto end = std::ranges::upper_bound(sorted, sorted[i] + kClusterNs);
    const auto group = std::span(sorted).subspan(i, static_cast<std::size_t>(end - sorted.begin()) - i);
    if (group.size() > most.size()) most = group;
  }
  if (2 * most.size() <= sorted.size()) return std::nullopt;
  return summarise(most).median_ns;
}

double common_overhead_ns(std::array<double, 3> medians_ns) {
  std::ranges::sort(medians_ns);
  double sum = 0;
  int agreeing = 0;
  for (const double median : medians_ns) {
    if (std::abs(median - medians_ns[1]) > kCalibrationOutlierNs) continue;
    sum += median;
    ++agreeing;
  }
  return sum / agreeing;
}

double overhead_within_calls_ns(double overhead_ns, std::span<const std::int64_t> intervals_ns,
                                std::span<const std::int64_t> events_ns) {
  if (intervals_ns.empty() || intervals_ns.size() != events_ns.size()) return overhead_ns;
  std::vector<std::int64_t> rests_ns;
  for (std::size_t i = 0; i < intervals_ns.size(); ++i) {
    if (events_ns[i] <= 0) return overhead_ns;
    rests_ns.push_back(std::max<std::int64_t>(0, intervals_ns[i] - events_ns[i]));
  }
  const double shown_ns = summarise(rests_ns).median_ns;
  return shown_ns + kCalibrationOutlierNs < overhead_ns ? shown_ns : overhead_ns;
}

Step<Overhead> calibrate(Device& device, Child& child, const ChildActivity& activity, std::uint64_t touch_bytes,
                         std::int64_t limit_ms) {
  child.write_touch_bytes(std::min(touch_bytes, kTouchBytesMax));
  KQ_TRY_VALUE(auto calls, make_null_calls(device, child, activity, limit_ms));
  const ConcurrentWarmUps* const warm_ups = device.concurrent_warm_ups();
  for (int again = 1;
       warm_ups != nullptr && !median_without_outliers_ns(calls.intervals_ns) && again <= kRecalibrationsMax + 1;
       ++again) {
    if (again > kRecalibrationsMax) warm_ups->wait();
    KQ_TRY_VALUE(calls, make_null_calls(device, child, activity, limit_ms));
  }
  const double median_ns = summarise(calls.intervals_ns).median_ns;
  std::ranges::sort(calls.occupancy_gaps_ns);
  return Overhead{warm_ups == nullptr ? median_ns : median_without_outliers_ns(calls.intervals_ns).value_or(median_ns),
                  calls.occupancy_gaps_ns[calls.occupancy_gaps_ns.size() / 4]};
}

Step<std::unique_ptr<Calibrator>> Calibrator::open(Device& device, sys::Fd channel, Exits& exits, WaitMode wait_mode) {
  auto child = Child::start(std::move(channel), ChildRole::calibrator, exits, wait_mode);
  if (!child) return stop(child.error());
  return std::unique_ptr<Calibrator>(new Calibrator(device, std::move(*child)));
}

Step<Overhead> Calibrator::calibrate(std::uint64_t touch_bytes, std::int64_t limit_ms) {
  const auto overhead =
      judge::calibrate(device_, *child_, {ChildRole::calibrator, Phase::setup}, touch_bytes, limit_ms);
  if (!overhead) return overhead;
  last_ = *overhead;
  last_touch_bytes_ = touch_bytes;
  last_ns_ = clock_ns();
  return overhead;
}

Step<Overhead> Calibrator::reuse_or_calibrate(std::uint64_t touch_bytes, std::int64_t limit_ms,
                                              std::int64_t age_max_ns) {
  const bool is_fresh = last_ns_ && last_touch_bytes_ == touch_bytes && clock_ns() - *last_ns_ < age_max_ns;
  return is_fresh ? Step<Overhead>(last_) : calibrate(touch_bytes, limit_ms);
}

}  // namespace kq::judge
