// What a device finds when it measures an output by itself. Each of its threads makes a record of its own elements, and
// the records are merged in the order of the threads, so that the result is the same on every run.
#pragma once

#include <cstdint>
#include <span>

namespace kq::judge {

// What Comparison (check/compare.h) finds in real floating-point numbers. A record of no element is as initialised.
struct ErrorRecord {
  std::uint64_t wrong = 0;       // elements that are not within the tolerance
  std::uint64_t not_finite = 0;  // elements that are NaN or infinite where the expected ones are finite
  // The indices of wrong elements, which mean nothing where there is none. `worst` is the first of those with the
  // largest excess.
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t worst = 0;
  double worst_excess = -1;  // the error divided by what is allowed there; infinite where it is not finite
  // The worst errors of pairs of finite numbers.
  double max_abs_err = 0;
  double max_rel_err = 0;
};

// What TruthComparison (check/truth.h) finds in real floating-point numbers.
struct TruthRecord {
  std::uint64_t count = 0;  // elements that are finite on all sides
  double truth_squares = 0;
  double submission_squares = 0;  // of the errors
  double submission_largest = 0;
  double reference_squares = 0;
  double reference_largest = 0;
  std::uint64_t beyond = 0;         // elements that are finite on all sides and not within the tolerance of the truth
  std::uint64_t wrong_form = 0;     // elements that are NaN or infinite where the reference has another value
  std::uint64_t special_truth = 0;  // elements of which only the truth is not finite
};

ErrorRecord merged(std::span<const ErrorRecord> records);
TruthRecord merged(std::span<const TruthRecord> records);

}  // namespace kq::judge
