#include "core/measurement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace kq {
namespace {

// Returns the smallest sample that at least `percent` of all samples do not exceed.
double nearest_rank(std::span<const std::int64_t> sorted, std::size_t percent) {
  return static_cast<double>(sorted[(sorted.size() * percent + 99) / 100 - 1]);
}

}  // namespace

Statistics summarise(std::span<const std::int64_t> samples_ns) {
  if (samples_ns.empty()) return {};
  std::vector<std::int64_t> sorted(samples_ns.begin(), samples_ns.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(n);
  double squares = 0;
  for (std::int64_t sample : sorted)
    squares += (static_cast<double>(sample) - mean) * (static_cast<double>(sample) - mean);
  const double upper = static_cast<double>(sorted[n / 2]);
  return {.sample_count = static_cast<std::uint32_t>(n),
          .median_ns = n % 2 == 1 ? upper : (static_cast<double>(sorted[n / 2 - 1]) + upper) / 2,
          .mean_ns = mean,
          .std_ns = n < 2 ? 0 : std::sqrt(squares / static_cast<double>(n - 1)),
          .min_ns = static_cast<double>(sorted.front()),
          .max_ns = static_cast<double>(sorted.back()),
          .p95_ns = n < kP95SamplesMin ? 0 : nearest_rank(sorted, 95),
          .p99_ns = n < kP99SamplesMin ? 0 : nearest_rank(sorted, 99)};
}

double speedup(const Measurement& measurement) {
  if (measurement.submission.median_ns <= 0 || measurement.reference.median_ns <= 0) return 0;
  return measurement.reference.median_ns / measurement.submission.median_ns;
}

}  // namespace kq
