// The degenerate-tolerance check. Where all expected elements are smaller than the tolerance, an output of zeros is
// within the tolerance too, so the tolerance cannot tell right from wrong. This check asks whether the output is close
// to the expected one when measured against the size of the expected elements themselves.
#pragma once

#include <span>

#include "gpu_worker/judge/check/compare.h"

namespace kq::judge {

// An output is close to the expected one where
//
//   sum (got - expected)^2 <= max of
//     kVariationShare sum (expected - mean)^2     the output is far closer than the best constant,
//     kRelativeErrorMax^2 sum expected^2          or the elements are off by a few per cent,
//     count absolute_error^2                      or they are off by so little that the expected elements may be
//                                                 rounding errors themselves.
//
// absolute_error is min(kAbsoluteErrorOfAtol atol, kAbsoluteErrorMax), a few rounding errors of single precision where
// numbers of about 1 cancel. An output of fewer than kElementsMin elements always counts as close: a loss that nearly
// cancels may honestly be off by more.
inline constexpr double kVariationShare = 0.1;
inline constexpr double kRelativeErrorMax = 0.05;
inline constexpr double kAbsoluteErrorMax = 5e-6;
inline constexpr double kElementsMin = 8;
inline constexpr double kAbsoluteErrorOfAtol = 1e-2;

struct DegenerateCheck {
  bool zeros_pass = false;  // there are finite elements, and zeros in place of all of them are within the tolerance
  bool is_close = true;
};

// `expected` and `got` have the same size. Pairs with an element that is not finite are left out; the comparison by
// tolerance handles them.
DegenerateCheck check_degenerate(std::span<const double> expected, std::span<const double> got, Tolerance tolerance);

}  // namespace kq::judge
