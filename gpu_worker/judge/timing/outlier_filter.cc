#include "gpu_worker/judge/timing/outlier_filter.h"

#include <algorithm>
#include <cstdlib>

#include "gpu_worker/judge/device/memory_speed.h"

namespace kq::judge {
namespace {

CallTimes within(const CallTimes& times, std::int64_t usual_ns) {
  const double far_ns = std::max(static_cast<double>(kOutlierNs), kOutlierShare * static_cast<double>(usual_ns));
  CallTimes kept;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const bool is_far = static_cast<double>(std::abs(times.intervals_ns[i] - usual_ns)) > far_ns;
    if (!times.during_warm_up[i] || !is_far)
      kept.add(times.intervals_ns[i], times.events_ns[i], times.during_warm_up[i], times.slowness[i]);
  }
  return kept;
}

}  // namespace

void CallTimes::add(std::int64_t interval_ns, std::int64_t event_ns, bool is_during_warm_up, double memory_slowness) {
  intervals_ns.push_back(interval_ns);
  events_ns.push_back(event_ns);
  during_warm_up.push_back(is_during_warm_up);
  slowness.push_back(memory_slowness);
}

CallTimes without_outliers(const CallTimes& times) {
  if (times.size() == 0) return {};
  std::vector<std::int64_t> sorted = times.intervals_ns;
  const auto quarter = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 4);
  std::ranges::nth_element(sorted, quarter);
  return within(times, *quarter);
}

CallTimes reference_without_outliers(const CallTimes& times) {
  if (times.size() == 0) return {};
  return within(times, std::ranges::min(times.intervals_ns));
}

bool had_slow_memory(const CallTimes& times, double share) {
  const auto slow_count =
      std::ranges::count_if(times.slowness, [](double slowness) { return slowness > kSlowMemoryRatio; });
  return times.size() > 0 && static_cast<double>(slow_count) >= share * static_cast<double>(times.size());
}

}  // namespace kq::judge
