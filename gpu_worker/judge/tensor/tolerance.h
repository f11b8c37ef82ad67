// By how much the numbers of an output may differ from the expected ones.
#pragma once

#include <optional>

namespace kq::judge {

// A number `got` is right where |got - expected| <= atol + rtol * |expected|. An output is right where this share of
// its elements is, and all of them are finite where the expected ones are.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
  double matched = 1;
};

// The tolerance that a problem names for one of its outputs. Without a value that of the output's dtype holds.
struct ProblemTolerance {
  std::optional<double> rtol;
  std::optional<double> atol;
  double matched = 1;
};

}  // namespace kq::judge
