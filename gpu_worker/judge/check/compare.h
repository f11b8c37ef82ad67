// Compares an output with the reference's, element by element, on the host.
//
//   floats    |got - expected| <= atol + rtol * |expected|; NaN exactly where the reference has NaN; equal infinities
//   integers  equal, whatever the tolerance
//   booleans  equal, and stored as 0 or 1
//   complex   both parts as floats; an element counts once
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/verdict.h"
#include "gpu_worker/channel/channel.h"
#include "gpu_worker/judge/device/records.h"
#include "gpu_worker/judge/tensor/tolerance.h"

namespace kq::judge {

// Returns the tolerance of an output of this dtype. The submission's rtol or atol, or else the one that the problem
// names for the output, replaces that of the table (compare.cc), in which float32 has 1e-4 and half precision has 1e-2
// as in KernelBench's evaluation. Eight bits have one step of their format (torch.finfo: eps, and smallest_subnormal
// for atol), because neither KernelBench nor torch.testing names a tolerance.
Tolerance tolerance_for(channel::Dtype dtype, std::optional<double> rtol, std::optional<double> atol,
                        const std::optional<ProblemTolerance>& of_problem = std::nullopt);

// Returns whether an element of this dtype has a real and an imaginary part.
constexpr bool is_complex(channel::Dtype dtype) {
  using channel::Dtype;
  return dtype == Dtype::complex32 || dtype == Dtype::complex64 || dtype == Dtype::complex128;
}
// Returns whether elements of this dtype are compared by a tolerance.
constexpr bool is_floating(channel::Dtype dtype) {
  using channel::Dtype;
  return dtype == Dtype::float64 || dtype == Dtype::float32 || dtype == Dtype::float16 || dtype == Dtype::bfloat16 ||
         is_complex(dtype) || (dtype >= Dtype::float8_e4m3fn && dtype <= Dtype::float8_e8m0fnu);
}
// Returns the elements of a floating-point dtype as exact numbers, and two numbers for a complex element. Returns
// nothing for other dtypes.
std::vector<double> numbers_of(channel::Dtype dtype, std::span<const std::byte> bytes);
// Returns one number for each element of any dtype; of a complex element, its real part. Integers beyond 2^53 are
// rounded.
std::vector<double> values_of(channel::Dtype dtype, std::span<const std::byte> bytes);

// The expected and the submission's number of one element.
struct NumberPair {
  double expected = 0;
  double got = 0;
};

// Compares one output, piece by piece: tensors larger than a staging buffer come in order.
class Comparison {
 public:
  Comparison(channel::Dtype dtype, Tolerance tolerance) : dtype_(dtype), tolerance_(tolerance) {}

  // Adds the next piece of both. They have the same whole number of elements and are aligned for their dtype.
  // Several threads compare a large piece (slices.h).
  void add(std::span<const std::byte> expected, std::span<const std::byte> got);
  // Replaces all calls of add() where the device has found that all elements agree, with these worst errors.
  void add_agreed(std::uint64_t elements, double max_abs_err, double max_rel_err);
  // Replaces all calls of add() where the device has measured all elements. `first` and `worst` are the numbers of the
  // elements that the record names so.
  void add_measured(std::uint64_t elements, const ErrorRecord& record, NumberPair first, NumberPair worst);
  channel::Dtype dtype() const { return dtype_; }
  Tolerance tolerance() const { return tolerance_; }

  // Returns whether the output is right: as many elements agree as the tolerance asks for.
  bool equal() const {
    return mismatched_ == 0 || (not_finite_ == 0 && static_cast<double>(mismatched_) <=
                                                        (1 - tolerance_.matched) * static_cast<double>(total_));
  }
  // Returns the reason of evidence: "nan" where an element is NaN or infinite and the reference's is finite, otherwise
  // "value".
  std::string reason() const { return not_finite_ > 0 ? "nan" : "value"; }
  // Returns the first element that differs, the worst one, and the worst errors over all finite pairs. The caller fills
  // in the trial, the output and the place.
  Mismatch mismatch() const;
  // The row-major indices of the worst and of the last element that differs.
  std::uint64_t worst() const { return worst_; }
  std::uint64_t last() const { return last_; }
  double max_abs_err() const { return max_abs_err_; }
  double max_rel_err() const { return max_rel_err_; }

 private:
  void add_slice(std::span<const std::byte> expected, std::span<const std::byte> got);
  // Adds the next piece, which `next` has compared.
  void append(const Comparison& next);
  template <class Format>
  void add_floats(std::span<const std::byte> expected, std::span<const std::byte> got);
  template <class Integer>
  void add_integers(std::span<const std::byte> expected, std::span<const std::byte> got);
  void add_booleans(std::span<const std::byte> expected, std::span<const std::byte> got);
  // Compares a block of finite numbers, and returns false, without having recorded anything, where one is not finite.
  bool add_block(std::uint64_t first, std::span<const double> expected, std::span<const double> got);
  // Records the comparison of one element, or of one part of a complex element.
  void note(std::uint64_t element, bool is_equal, double expected, double got);

  channel::Dtype dtype_;
  Tolerance tolerance_;
  std::uint64_t total_ = 0;  // elements so far
  std::uint64_t mismatched_ = 0;
  std::uint64_t not_finite_ = 0;
  double max_abs_err_ = 0;
  double max_rel_err_ = 0;
  std::uint64_t first_ = 0;
  double first_expected_ = 0;
  double first_got_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t worst_ = 0;
  double worst_expected_ = 0;
  double worst_got_ = 0;
  double worst_excess_ = -1;  // its error divided by what is allowed there; infinite where it is not finite
};

}  // namespace kq::judge
