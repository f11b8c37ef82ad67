#include "core/ranks/comparison.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace kq {
namespace {

struct Point {
  double kernel_count;
  double factor;
};

// q(0.05; k, inf) / q(0.05; 2, inf) of the studentized range (Tukey, The Problem of Multiple Comparisons, 1953),
// rounded to four digits. The probability that the range of k standard normal values is below q is the integral over z
// of k * phi(z) * (Phi(z) - Phi(z - q))^(k - 1). Between the points the factor is linear in the logarithm of the count,
// which is less than 1 % wrong up to ten million kernels.
constexpr Point kFactors[] = {{2, 1},        {3, 1.1958},     {4, 1.3108},      {5, 1.3917},       {7, 1.5043},
                              {10, 1.6142},  {15, 1.7303},    {25, 1.8663},     {50, 2.0369},      {100, 2.1952},
                              {300, 2.4265}, {1'000, 2.6588}, {10'000, 3.0578}, {100'000, 3.4134}, {1'000'000, 3.7374}};

}  // namespace

double noise_factor(std::size_t kernel_count) {
  if (kernel_count <= 2) return 1;
  const auto count = static_cast<double>(kernel_count);
  // Beyond the last point the last line goes on, which makes the factor slightly too large.
  const Point* above = std::ranges::lower_bound(kFactors, count, {}, &Point::kernel_count);
  if (above == std::end(kFactors)) --above;
  const Point& below = *(above - 1);
  const double share = std::log(count / below.kernel_count) / std::log(above->kernel_count / below.kernel_count);
  return below.factor + share * (above->factor - below.factor);
}

double lead(const Figure& fast, const Figure& slow) {
  const double difference_ns = slow.median_ns - fast.median_ns;
  const double slow_noise_ns = std::min(slow.noise_ns, kComparedNoiseShareMax * slow.median_ns);
  const double noise_ns = std::hypot(fast.noise_ns, slow_noise_ns);
  if (noise_ns > 0) return difference_ns / noise_ns;
  return difference_ns > 0 ? std::numeric_limits<double>::infinity() : difference_ns;
}

std::vector<std::size_t> holders(std::span<const Figure> in_time) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < in_time.size(); ++i) {
    if (found.empty() || lead(in_time[i], in_time[found.back()]) > noise_factor(i + 1)) found.push_back(i);
  }
  return found;
}

}  // namespace kq
