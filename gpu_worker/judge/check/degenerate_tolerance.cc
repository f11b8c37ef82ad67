#include "gpu_worker/judge/check/degenerate_tolerance.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace kq::judge {

Likeness likeness(std::span<const double> expected, std::span<const double> got, Tolerance tolerance) {
  KQ_CHECK(expected.size() == got.size());
  double n = 0, sum = 0, size = 0, error = 0;
  bool zeros_are_right = true;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i];
    if (!std::isfinite(e) || !std::isfinite(got[i])) continue;
    zeros_are_right = zeros_are_right && std::abs(e) <= tolerance.atol + tolerance.rtol * std::abs(e);
    ++n;
    sum += e;
    size += e * e;
    error += (got[i] - e) * (got[i] - e);
  }
  const double variation = n > 0 ? std::max(size - sum * sum / n, 0.0) : 0;
  const double nothing = std::min(kNothing, kOfTolerance * tolerance.atol);
  return {.zeros_are_right = zeros_are_right && n > 0,
          .is_like = n < kFewest ||
                     error <= std::max({kOfVariation * variation, kOfSize * kOfSize * size, n * nothing * nothing})};
}

}  // namespace kq::judge
