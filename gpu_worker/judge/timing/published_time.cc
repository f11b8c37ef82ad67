#include "gpu_worker/judge/timing/published_time.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "core/measurement.h"

namespace kq::judge {
namespace {

// Returns the early time of the samples: their lower quartile by nearest rank, at most kLate* below the median.
double early_ns(std::span<const std::int64_t> samples_ns, double median_ns) {
  if (samples_ns.size() < kQuartileSamplesMin) return median_ns;
  std::vector<std::int64_t> sorted(samples_ns.begin(), samples_ns.end());
  const auto quarter = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 4);
  std::ranges::nth_element(sorted, quarter);
  return std::max(static_cast<double>(*quarter), median_ns - std::min(kLateMaxNs, kLateMaxShare * median_ns));
}

std::string mismatch_text(double judge_ns, double event_ns) {
  char text[160];
  std::snprintf(text, sizeof text,
                "the judge's clock says %.1f us a call, the clock inside of the submission's process %.1f us",
                judge_ns / 1e3, event_ns / 1e3);
  return text;
}

// Returns the median of the child's times, or 0 where a call has none.
double event_median_ns(std::span<const std::int64_t> events_ns) {
  if (!std::ranges::all_of(events_ns, [](std::int64_t event) { return event > 0; })) return 0;
  return summarise(events_ns).median_ns;
}

bool clocks_mismatch(double judge_ns, double event_ns) {
  return std::abs(event_ns - judge_ns) > std::max(kClockMismatchNs, kClockMismatchShare * judge_ns);
}

}  // namespace

PublishedTime published_time(std::span<const std::int64_t> samples_ns, std::span<const std::int64_t> events_ns,
                             double drift_ns, double burst_ns) {
  if (samples_ns.empty()) return {};
  PublishedTime published;
  published.judge_ns = summarise(samples_ns).median_ns;
  published.event_ns = event_median_ns(events_ns);
  if (published.event_ns == 0) {
    published.median_ns = published.judge_ns;
    published.noise_ns = noise_of(samples_ns, published.median_ns);
    return published;
  }
  const double cap =
      std::min(std::max(kSlackMaxNs, kSlackMaxShare * published.judge_ns), kSlackMaxOfAll * published.judge_ns);
  const double by_chance = median_error_ns(samples_ns);
  const double error = 3 * std::hypot(by_chance, kCalibrationErrorNs) + std::abs(drift_ns);
  published.is_event_implausible =
      published.event_ns < published.judge_ns - std::min(3 * by_chance + std::abs(drift_ns), cap);
  double slack = std::min(error, cap);
  double burst_floor_ns = 0;
  if (burst_ns > 0 && burst_ns <= published.judge_ns) {
    burst_floor_ns = (1 - kBurstErrorShare) * burst_ns;
    slack = std::max(slack, std::min(kBurstSlackNs, kBurstSlackShare * published.judge_ns));
  }
  published.median_ns =
      std::max({published.event_ns, burst_floor_ns, early_ns(samples_ns, published.judge_ns) - slack, 1.0});
  published.noise_ns = published_noise_ns(samples_ns, events_ns, published.median_ns);
  if (clocks_mismatch(published.judge_ns, published.event_ns))
    published.clock_mismatch = mismatch_text(published.judge_ns, published.event_ns);
  return published;
}

double published_noise_ns(std::span<const std::int64_t> samples_ns, std::span<const std::int64_t> events_ns,
                          double median_ns) {
  return noise_of(median_ns == event_median_ns(events_ns) ? events_ns : samples_ns, median_ns);
}

double reference_median_ns(std::span<const std::int64_t> samples_ns, std::span<const std::int64_t> events_ns) {
  const double judge_ns = summarise(samples_ns).median_ns;
  const double event_ns = event_median_ns(events_ns);
  if (event_ns == 0 || clocks_mismatch(judge_ns, event_ns)) return judge_ns;
  return std::min(event_ns, judge_ns + 3 * kCalibrationErrorNs);
}

}  // namespace kq::judge
