#include "gpu_worker/judge/timing/outlier_filter.h"

#include <algorithm>
#include <cstdlib>

#include "gpu_worker/judge/device/memory_speed.h"

namespace kq::judge {
namespace {

Times near(const Times& times, std::int64_t usual_ns) {
  const double far_ns = std::max(static_cast<double>(kDisturbedNs), kDisturbedShare * static_cast<double>(usual_ns));
  Times kept;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const bool is_far = static_cast<double>(std::abs(times.brackets_ns[i] - usual_ns)) > far_ns;
    if (!times.beside[i] || !is_far)
      kept.add(times.brackets_ns[i], times.events_ns[i], times.beside[i], times.slowness[i]);
  }
  return kept;
}

}  // namespace

void Times::add(std::int64_t bracket_ns, std::int64_t event_ns, bool is_beside, double memory_slowness) {
  brackets_ns.push_back(bracket_ns);
  events_ns.push_back(event_ns);
  beside.push_back(is_beside);
  slowness.push_back(memory_slowness);
}

Times undisturbed(const Times& times) {
  if (times.size() == 0) return {};
  std::vector<std::int64_t> sorted = times.brackets_ns;
  const auto quarter = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 4);
  std::ranges::nth_element(sorted, quarter);
  return near(times, *quarter);
}

Times undisturbed_reference(const Times& times) {
  if (times.size() == 0) return {};
  return near(times, std::ranges::min(times.brackets_ns));
}

bool had_slow_memory(const Times& times, double share) {
  const auto slow_n = std::ranges::count_if(times.slowness, [](double slowness) { return slowness > kSlowMemory; });
  return times.size() > 0 && static_cast<double>(slow_n) >= share * static_cast<double>(times.size());
}

}  // namespace kq::judge
