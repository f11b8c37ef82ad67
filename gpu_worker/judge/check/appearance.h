// Says what a wrong output looks like, so that its author need not guess: lower precision, one tile or the tail wrong,
// transposed, shifted by one row, zeros, never written. The answer decides about a hint only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu_worker/judge/tensor/table.h"
#include "gpu_worker/judge/tensor/tolerance.h"

namespace kq::judge {

// The most elements of an output that are looked at. A larger output is looked at from its first wrong element on.
inline constexpr std::uint64_t kAppearanceElementsMax = 1u << 20;

// A part of a wrong output on the host. `expected` and `got` have one number for each element; of a complex element it
// is the real part.
struct WrongOutput {
  std::vector<std::int64_t> shape = {};
  std::uint64_t begin = 0;  // the row-major index of the first element in the spans
  std::span<const double> expected = {};
  std::span<const double> got = {};
  // For each element whether it still holds the poison that the judge wrote before the call; may be empty.
  std::vector<bool> unwritten = {};
  Tolerance tolerance = {};
  // Of the whole output: how many elements are wrong, and the first and the last of them.
  std::uint64_t mismatched = 0;
  std::uint64_t total = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

struct Appearance {
  std::string word;      // for a column: "zeros", "tail"; empty where nothing is known
  std::string sentence;  // for people
};

// Returns what fits best: the most special kind of mistake that explains nearly all elements.
Appearance appearance_of(const WrongOutput& output);
// Finds out, piece by piece, whether two sequences of numbers agree within the tolerance in nearly all elements, and
// not only because all of them are small.
class NearlyEqual {
 public:
  NearlyEqual(std::uint64_t elements, Tolerance tolerance) : elements_(elements), tolerance_(tolerance) {}
  // Adds the next piece. Returns false where so many elements differ that the rest does not matter.
  bool add(std::span<const double> expected, std::span<const double> got);
  // Valid when all elements were added.
  bool is_equal() const;

 private:
  std::uint64_t elements_;
  Tolerance tolerance_;
  std::uint64_t different_ = 0;
  bool is_large_ = false;
};

// The same for an output of another shape or dtype.
Appearance appearance_of_form(const Tensor& expected, const Tensor& got);

// Returns the begin of the part of an output that is looked at, and its number of elements.
struct Part {
  std::uint64_t begin = 0;
  std::uint64_t elements = 0;
};
Part part_to_look_at(const std::vector<std::int64_t>& shape, std::uint64_t total, std::uint64_t first);

// Returns the indices of an element: "[3, 17]".
std::string place_of(const std::vector<std::int64_t>& shape, std::uint64_t element);
// Returns the place of a byte of a tensor's memory, as the indices of the element that has it: "[3, 17]". Returns
// "byte 7" where no element has it, as between the elements of a strided tensor.
std::string place_of_byte(const Tensor& tensor, std::uint64_t byte);

}  // namespace kq::judge
