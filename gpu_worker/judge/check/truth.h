// Decides by the truth (core/problem.h) whether an output is right that is not within the tolerance of the reference's.
//
// It is right where one of these holds:
//
//   1. every element is within the tolerance of the truth
//   2. it is no farther from the truth than the reference is: the RMS of its errors is at most `rms` times, and its
//      largest error at most `max` times, that of the reference (TruthRule). An allowed precision adds to the
//      reference's errors, before they are multiplied, the RMS and the largest of the differences that rounding inputs
//      and parameters to that precision makes in the truth.
//
// NaN and infinity must be where the reference has them, in both cases.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/problem.h"
#include "core/verdict.h"
#include "gpu_worker/channel/channel.h"
#include "gpu_worker/judge/device/records.h"
#include "gpu_worker/judge/tensor/tolerance.h"

namespace kq::judge {

// A reference whose relative RMS error is larger has computed something else than the truth: its random numbers depend
// on the dtype, or what it computes is mostly cancellation. Rule 2 would then pass anything, so it does not hold.
inline constexpr double kReferenceErrorMax = 0.02;
// The truth is computed in so many trials of an output. In later trials the output is measured by what those trials
// have allowed, so that a submission that passes by the truth costs a bounded number of reference calls.
inline constexpr std::uint32_t kTruthTrialsMax = 3;

// Sums of errors of a sequence of numbers.
struct ErrorSums {
  double squares = 0;
  double largest = 0;

  void add(double error);
  void add(const ErrorSums& others);
};

// Elements of a floating-point dtype, as a tensor holds them.
struct StoredNumbers {
  channel::Dtype dtype = channel::Dtype::none;
  std::span<const std::byte> bytes;
};

// How far outputs may be from the reference, relative to the RMS of the reference, so that the reference's own distance
// from the truth explains it: largest of the trials in which the truth was computed.
struct TruthAllowance {
  std::uint32_t trials = 0;
  double rms = 0;
  double max = 0;
};

// Measures one output by the truth, piece by piece. All numbers are real; a complex element is two numbers.
class TruthComparison {
 public:
  explicit TruthComparison(Tolerance tolerance) : tolerance_(tolerance) {}

  // Adds the next piece. All spans have the same size.
  void add(std::span<const double> truth, std::span<const double> expected, std::span<const double> got);
  // The same for tensors of equally many elements. Several threads measure a large piece (slices.h).
  void add(const StoredNumbers& truth, const StoredNumbers& expected, const StoredNumbers& got);
  // Replaces all calls of add() where the device has measured all elements.
  void add_measured(const TruthRecord& record);
  // Adds the next piece of the truth from rounded inputs and parameters, which has the dtype of the truth.
  void add_rounded(std::span<const double> truth, std::span<const double> rounded);
  void add_rounded(const StoredNumbers& truth, const StoredNumbers& rounded);

  bool is_right(const TruthRule& rule) const;
  // Returns whether rule 1 or kReferenceErrorMax lets this truth say something about the output.
  bool is_conclusive() const;
  // Returns the errors. Everything but `kind` is set.
  TruthErrors errors() const;
  // Widens the allowance by what this comparison has shown.
  void widen(TruthAllowance& allowance, const TruthRule& rule) const;

 private:
  void add_one_by_one(std::span<const double> truth, std::span<const double> expected, std::span<const double> got);
  // Adds what other pieces have shown.
  void append(const TruthComparison& others);
  double rms(const ErrorSums& sums) const;
  double relative(double error) const;

  Tolerance tolerance_;
  std::uint64_t count_ = 0;  // numbers that are finite on all sides
  double truth_squares_ = 0;
  ErrorSums submission_;
  ErrorSums reference_;
  ErrorSums rounding_;
  bool is_within_ = true;      // of the tolerance
  bool is_form_right_ = true;  // NaN and infinity are where the reference has them
  bool is_truth_finite_ = true;
};

// Measures one output by the allowance of earlier trials, piece by piece.
class AllowanceComparison {
 public:
  void add(std::span<const double> expected, std::span<const double> got);
  // The same for tensors of equally many elements. Several threads measure a large piece (slices.h).
  void add(const StoredNumbers& expected, const StoredNumbers& got);
  bool is_right(const TruthAllowance& allowance) const;

 private:
  // Adds what other pieces have shown.
  void append(const AllowanceComparison& others);

  std::uint64_t count_ = 0;
  double expected_squares_ = 0;
  ErrorSums difference_;
  bool is_form_right_ = true;
};

// Returns the precision that errors look like whose RMS and largest are relative to the size of the numbers: "float32",
// "TF32 or float16" or "bfloat16"; otherwise an empty text. A low precision makes many errors of about the same size,
// so an error that is far larger than the RMS means that a few elements are wrong.
std::string precision_like(double relative_rms, double relative_largest);

}  // namespace kq::judge
