// What a tolerance cannot tell: where everything that is expected is smaller than it, zeros are right, too. An honest
// output of such a problem still is near to what is expected, measured by that itself.
#pragma once

#include <span>

#include "gpu_worker/judge/check/compare.h"

namespace kq::judge {

// An output is like the expected one where
//
//   sum (got - expected)^2 <= the largest of   kOfVariation sum (expected - mean)^2     it is far nearer than the best
//   constant
//                                              kOfSize^2    sum expected^2              or within some per cent of each
//                                              n nothing^2                              or off by next to nothing: what
//                                              is expected may be rounding itself
//
// where nothing is kOfTolerance atol, and no more than kNothing: of numbers like 1 that cancel, some roundings of
// single precision's. Of fewer than kFewest numbers nothing is said: a loss that nearly cancels may honestly be off by
// more.
inline constexpr double kVariationShare = 0.1;
inline constexpr double kRelativeErrorMax = 0.05;
inline constexpr double kAbsoluteErrorMax = 5e-6;
inline constexpr double kElementsMin = 8;
inline constexpr double kAbsoluteErrorOfAtol = 1e-2;

struct DegenerateCheck {
  bool zeros_pass = false;  // by the tolerance, of what is finite, and there is any
  bool is_close = true;
};

// Of equally many numbers of both; what is not finite is left out, and the tolerance has told of it.
DegenerateCheck check_degenerate(std::span<const double> expected, std::span<const double> got, Tolerance tolerance);

}  // namespace kq::judge
