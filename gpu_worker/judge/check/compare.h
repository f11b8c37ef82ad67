// Is an output right? Element by element against the reference, on the host.
//
//   floats    |got - expected| <= atol + rtol * |expected|; NaN exactly where the reference has NaN; infinities equal
//   by sign integers  equal, whatever the tolerance booleans  equal, and written as 0 or 1 complex   as its two parts;
//   one element counts once
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/verdict.h"
#include "gpu_worker/channel/channel.h"
#include "gpu_worker/judge/tensor/tolerance.h"

namespace kq::judge {

// THE TOLERANCES, by dtype. float32 1e-4 and half precision 1e-2 are what KernelBench's evaluation uses; float64 is
// ours. A problem's own rtol or atol replaces the row's.
Tolerance tolerance_for(channel::Dtype dtype, std::optional<double> rtol, std::optional<double> atol);

// Whether its elements are compared by a tolerance.
constexpr bool is_floating(channel::Dtype dtype) {
  using channel::Dtype;
  return dtype == Dtype::float64 || dtype == Dtype::float32 || dtype == Dtype::float16 || dtype == Dtype::bfloat16 ||
         dtype == Dtype::complex64 || dtype == Dtype::complex128;
}
// Elements as numbers, exactly; of complex ones both parts. None of what is compared by its bytes.
std::vector<double> numbers_of(channel::Dtype dtype, std::span<const std::byte> bytes);

// Compares one output, piece by piece: tensors larger than a staging buffer come in order.
class Comparison {
 public:
  Comparison(channel::Dtype dtype, Tolerance tolerance) : dtype_(dtype), tolerance_(tolerance) {}

  // The next piece of both: the same whole number of elements, aligned for their dtype.
  void add(std::span<const std::byte> expected, std::span<const std::byte> got);
  // Instead of all pieces: `elements` that somebody else found to agree, with their worst errors.
  void add_agreed(std::uint64_t elements, double max_abs_err, double max_rel_err);
  channel::Dtype dtype() const { return dtype_; }
  Tolerance tolerance() const { return tolerance_; }

  bool equal() const { return mismatched_ == 0; }
  // "nan": NaN or infinity where the reference is finite; "value" otherwise.
  std::string reason() const { return not_finite_ ? "nan" : "value"; }
  // The first element that differs, and the worst errors over all finite pairs. Trial and output are the caller's to
  // fill.
  Mismatch mismatch() const;
  double max_abs_err() const { return max_abs_err_; }
  double max_rel_err() const { return max_rel_err_; }

 private:
  template <class Format>
  void add_floats(std::span<const std::byte> expected, std::span<const std::byte> got);
  template <class Integer>
  void add_integers(std::span<const std::byte> expected, std::span<const std::byte> got);
  void add_booleans(std::span<const std::byte> expected, std::span<const std::byte> got);
  // Takes note of one element, or one part of it.
  void note(std::uint64_t element, bool is_equal, double expected, double got);

  channel::Dtype dtype_;
  Tolerance tolerance_;
  std::uint64_t total_ = 0;  // elements so far
  std::uint64_t mismatched_ = 0;
  bool not_finite_ = false;
  double max_abs_err_ = 0;
  double max_rel_err_ = 0;
  std::uint64_t first_ = 0;
  double first_expected_ = 0;
  double first_got_ = 0;
};

}  // namespace kq::judge
