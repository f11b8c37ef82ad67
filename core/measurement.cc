#include "core/measurement.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

namespace kq {
namespace {

// Returns the smallest sample that at least `percent` of all samples do not exceed.
double nearest_rank(std::span<const std::int64_t> sorted, std::size_t percent) {
  return static_cast<double>(sorted[(sorted.size() * percent + 99) / 100 - 1]);
}

// The ratio of the standard error of a median to that of a mean, sqrt(pi / 2), for normal samples.
constexpr double kMedianToMean = 1.2533;
// The ratio of the standard deviation to the median absolute deviation of normal samples (Rousseeuw and Croux,
// Alternatives to the Median Absolute Deviation, 1993).
constexpr double kDeviationOfMad = 1.4826;

double noise_of_statistics(double noise_ns, const Statistics& statistics) {
  if (noise_ns > 0) return noise_ns;
  if (statistics.sample_count < 2) return std::numeric_limits<double>::infinity();
  const double error_ns = kMedianToMean * statistics.std_ns / std::sqrt(statistics.sample_count);
  return std::max(kNoiseErrors * error_ns, kNoiseShareMin * statistics.median_ns);
}

}  // namespace

double median_error_ns(std::span<const std::int64_t> samples_ns) {
  if (samples_ns.size() < 2) return 0;
  const auto median = std::llround(summarise(samples_ns).median_ns);
  std::vector<std::int64_t> deviations;
  deviations.reserve(samples_ns.size());
  for (const std::int64_t sample : samples_ns) deviations.push_back(std::llabs(sample - median));
  return kMedianToMean * kDeviationOfMad * summarise(deviations).median_ns /
         std::sqrt(static_cast<double>(samples_ns.size()));
}

double noise_of(std::span<const std::int64_t> samples_ns, double median_ns) {
  if (samples_ns.size() < 2) return std::numeric_limits<double>::infinity();
  return std::max(kNoiseErrors * median_error_ns(samples_ns), kNoiseShareMin * median_ns);
}

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

double submission_noise_ns(const Measurement& measurement) {
  return noise_of_statistics(measurement.noise_ns, measurement.submission);
}

double reference_noise_ns(const Measurement& measurement) {
  return noise_of_statistics(measurement.reference_noise_ns, measurement.reference);
}

double speedup_noise(const Measurement& measurement) {
  const double ratio = speedup(measurement);
  if (ratio <= 0) return std::numeric_limits<double>::infinity();
  return ratio * std::hypot(submission_noise_ns(measurement) / measurement.submission.median_ns,
                            reference_noise_ns(measurement) / measurement.reference.median_ns);
}

}  // namespace kq
