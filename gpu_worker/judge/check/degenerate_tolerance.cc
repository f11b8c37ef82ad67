#include "gpu_worker/judge/check/degenerate_tolerance.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace kq::judge {

DegenerateCheck check_degenerate(std::span<const double> expected, std::span<const double> got, Tolerance tolerance) {
  KQ_CHECK(expected.size() == got.size());
  double n = 0, sum = 0, size = 0, error = 0;
  bool zeros_pass = true;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = expected[i];
    if (!std::isfinite(e) || !std::isfinite(got[i])) continue;
    zeros_pass = zeros_pass && std::abs(e) <= tolerance.atol + tolerance.rtol * std::abs(e);
    ++n;
    sum += e;
    size += e * e;
    error += (got[i] - e) * (got[i] - e);
  }
  const double variation = n > 0 ? std::max(size - sum * sum / n, 0.0) : 0;
  const double nothing = std::min(kAbsoluteErrorMax, kAbsoluteErrorOfAtol * tolerance.atol);
  return {.zeros_pass = zeros_pass && n > 0,
          .is_close = n < kElementsMin ||
                      error <= std::max({kVariationShare * variation, kRelativeErrorMax * kRelativeErrorMax * size,
                                         n * nothing * nothing})};
}

}  // namespace kq::judge
