#include "gpu_worker/judge/check/appearance.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "gpu_worker/judge/check/truth.h"

namespace kq::judge {
namespace {

// The share of elements that a kind of mistake must explain.
constexpr double kNearlyAll = 0.95;
// The share of elements of a box or tail that must be wrong, so that the box or tail is what is wrong.
constexpr double kDense = 0.5;
static_assert(kDense >= 0.5, "is_moved() ends early where no more than this share can have moved");
// A box that covers more of the output than this explains nothing.
constexpr double kBoxShareMax = 0.75;
// Comparisons with a moved copy need more elements than this, because a few agree by chance.
constexpr std::uint64_t kMovedElementsMin = 8;
// Fewer wrong elements than this are neither a tile nor a tail.
constexpr std::uint64_t kRegionElementsMin = 4;

using Shape = std::vector<std::int64_t>;

bool is_close(double expected, double got, Tolerance tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return expected == got;
  return std::abs(got - expected) <= tolerance.atol + tolerance.rtol * std::abs(expected);
}

// Returns whether so many different elements are more than nearly equal sequences may have.
bool is_too_many(std::uint64_t different, std::uint64_t elements) {
  return static_cast<double>(different) > (1 - kNearlyAll) * static_cast<double>(elements);
}

std::string count_of(std::uint64_t some, std::uint64_t all) {
  return some == all ? "all " + std::to_string(all) : std::to_string(some) + " of " + std::to_string(all);
}

// The wrong elements of the part, in order.
std::vector<std::uint64_t> wrong_elements(const WrongOutput& output) {
  std::vector<std::uint64_t> wrong;
  wrong.reserve(std::min<std::uint64_t>(output.mismatched, output.expected.size()));
  for (std::uint64_t i = 0; i < output.expected.size(); ++i) {
    if (!is_close(output.expected[i], output.got[i], output.tolerance)) wrong.push_back(i);
  }
  return wrong;
}

// Returns whether the output equals, in nearly all elements that can be compared, its expected elements moved by
// `source`: from(i) is the expected element that stands at i, or nothing. Most outputs are not, which shows early.
template <class From>
bool is_moved(const WrongOutput& output, std::uint64_t elements, const From& from) {
  const auto all = static_cast<double>(elements);
  std::uint64_t compared = 0, equal = 0, moved = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    const auto source = from(i);
    if (!source) continue;
    ++compared;
    equal += is_close(output.expected[*source], output.got[i], output.tolerance) ? 1 : 0;
    moved += is_close(output.expected[*source], output.expected[i], output.tolerance) ? 0 : 1;
    if (is_too_many(compared - equal, elements) || static_cast<double>(compared - moved) > kDense * all) return false;
  }
  // Where the moved copy hardly differs from the output itself, agreement proves nothing.
  return compared >= kMovedElementsMin && static_cast<double>(moved) > kDense * static_cast<double>(compared) &&
         static_cast<double>(equal) >= kNearlyAll * static_cast<double>(compared);
}

std::optional<Appearance> unwritten(const WrongOutput& output, std::span<const std::uint64_t> wrong) {
  if (output.unwritten.empty()) return std::nullopt;
  const auto count =
      static_cast<std::uint64_t>(std::ranges::count_if(wrong, [&](std::uint64_t i) { return output.unwritten[i]; }));
  if (count == 0) return std::nullopt;
  if (wrong.size() == 1) {
    return Appearance{"unwritten",
                      "the wrong element still holds the value that the judge wrote before the call, so the call has "
                      "not written it"};
  }
  return Appearance{"unwritten", count_of(count, wrong.size()) +
                                     " wrong elements still hold the value that the judge wrote before the call, so "
                                     "the call has not written them"};
}

std::optional<Appearance> zeros(const WrongOutput& output, std::span<const std::uint64_t> wrong) {
  const bool are_zeros = std::ranges::all_of(wrong, [&](std::uint64_t i) { return output.got[i] == 0; });
  if (!are_zeros || wrong.empty()) return std::nullopt;
  return Appearance{"zeros", "every wrong element is 0"};
}

std::optional<Appearance> transposed(const WrongOutput& output) {
  if (output.shape.size() < 2) return std::nullopt;
  const auto rows = static_cast<std::uint64_t>(output.shape[output.shape.size() - 2]);
  const auto columns = static_cast<std::uint64_t>(output.shape.back());
  if (rows < 2 || columns < 2 || output.begin % (rows * columns) != 0 || output.expected.size() < rows * columns)
    return std::nullopt;
  const auto from = [&](std::uint64_t i) { return std::optional(i % rows * columns + i / rows); };
  if (!is_moved(output, rows * columns, from)) return std::nullopt;
  return Appearance{"transposed", "the output looks transposed: its last two dimensions are exchanged"};
}

std::optional<Appearance> shifted(const WrongOutput& output) {
  std::uint64_t stride = 1;
  for (std::size_t left = output.shape.size(); left > 0; --left) {
    const std::size_t dimension = left - 1;
    const auto size = static_cast<std::uint64_t>(output.shape[dimension]);
    const std::uint64_t elements = output.expected.size();
    for (const bool is_later : {true, false}) {
      const auto from = [&](std::uint64_t i) -> std::optional<std::uint64_t> {
        const std::uint64_t index = (output.begin + i) / stride % size;
        if (is_later ? index + 1 >= size || i + stride >= elements : index == 0 || i < stride) return std::nullopt;
        return is_later ? i + stride : i - stride;
      };
      if (size > 1 && is_moved(output, elements, from)) {
        return Appearance{"shifted", "the output looks shifted by one along dimension " + std::to_string(dimension) +
                                         " of its shape"};
      }
    }
    stride *= size;
  }
  return std::nullopt;
}

// The smallest box that holds all wrong elements; both ends are inclusive.
struct Box {
  Shape low;
  Shape high;
  std::uint64_t volume() const {
    std::uint64_t product = 1;
    for (std::size_t d = 0; d < low.size(); ++d) product *= static_cast<std::uint64_t>(high[d] - low[d] + 1);
    return product;
  }
};

Box box_of(const Shape& shape, std::span<const std::uint64_t> wrong) {
  Box box{shape, Shape(shape.size(), 0)};
  for (std::uint64_t element : wrong) {
    for (std::size_t left = shape.size(); left > 0; --left) {
      const auto size = static_cast<std::uint64_t>(shape[left - 1]);
      const auto index = static_cast<std::int64_t>(element % size);
      box.low[left - 1] = std::min(box.low[left - 1], index);
      box.high[left - 1] = std::max(box.high[left - 1], index);
      element /= size;
    }
  }
  return box;
}

std::optional<Appearance> region(const WrongOutput& output, std::span<const std::uint64_t> wrong) {
  const bool is_everywhere = static_cast<double>(output.mismatched) > kBoxShareMax * static_cast<double>(output.total);
  if (output.mismatched < kRegionElementsMin || is_everywhere) return std::nullopt;
  const std::uint64_t behind = output.total - output.first;
  const auto is_dense = [&](std::uint64_t volume) {
    return static_cast<double>(output.mismatched) >= kDense * static_cast<double>(volume) &&
           static_cast<double>(volume) <= kBoxShareMax * static_cast<double>(output.total);
  };
  const bool is_whole = output.expected.size() == output.total;
  if (is_whole && output.shape.size() > 1) {
    const Box box = box_of(output.shape, wrong);
    std::vector<std::size_t> cut;  // dimensions in which the box is smaller than the output
    for (std::size_t d = 0; d < output.shape.size(); ++d) {
      if (box.high[d] - box.low[d] + 1 < output.shape[d]) cut.push_back(d);
    }
    if (!is_dense(box.volume())) return std::nullopt;
    if (cut.size() == 1 && box.high[cut[0]] + 1 == output.shape[cut[0]]) {
      return Appearance{"tail", "all wrong elements are among the last " +
                                    std::to_string(output.shape[cut[0]] - box.low[cut[0]]) + " of " +
                                    std::to_string(output.shape[cut[0]]) + " along dimension " +
                                    std::to_string(cut[0]) + ": is its tail handled?"};
    }
    std::string text;
    for (std::size_t d = 0; d < output.shape.size(); ++d)
      text += (d == 0 ? "" : ", ") + std::to_string(box.low[d]) + ":" + std::to_string(box.high[d] + 1);
    return Appearance{"tile", "all wrong elements lie in [" + text + "], as if one tile were wrong"};
  }
  if (output.last + 1 == output.total && output.first > 0 && is_dense(behind)) {
    return Appearance{"tail", "all wrong elements are among the last " + std::to_string(behind) + " of " +
                                  std::to_string(output.total) + ": is the tail handled?"};
  }
  if (is_dense(output.last - output.first + 1)) {
    return Appearance{"tile", "all wrong elements are among the elements " + std::to_string(output.first) + " to " +
                                  std::to_string(output.last) + " in memory order, as if one tile were wrong"};
  }
  return std::nullopt;
}

// Returns whether the output has integers or booleans, which have no precision and must be equal.
bool is_whole_numbers(const WrongOutput& output) {
  const auto is_whole = [](double number) { return std::trunc(number) == number; };
  return output.tolerance.rtol == 0 && output.tolerance.atol == 0 && std::ranges::all_of(output.expected, is_whole) &&
         std::ranges::all_of(output.got, is_whole);
}

std::optional<Appearance> precision(const WrongOutput& output) {
  if (is_whole_numbers(output)) return std::nullopt;
  double errors = 0, size = 0, largest = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < output.expected.size(); ++i) {
    if (!std::isfinite(output.expected[i]) || !std::isfinite(output.got[i])) continue;
    const double error = std::abs(output.got[i] - output.expected[i]);
    errors += error * error;
    largest = std::max(largest, error);
    ++count;
    size += output.expected[i] * output.expected[i];
  }
  const double rms = size > 0 ? std::sqrt(errors / size) : 0;
  const double mean = std::sqrt(size / static_cast<double>(std::max<std::size_t>(count, 1)));
  const std::string like = precision_like(rms, mean > 0 ? largest / mean : 0);
  if (like.empty()) return std::nullopt;
  char text[96];
  std::snprintf(text, sizeof text, "the relative RMS of its errors is %.2g, as %s has", rms, like.c_str());
  return Appearance{like == "float32" ? "fp32" : like == "bfloat16" ? "bf16" : "tf32", text};
}

Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

std::string bracketed(const std::vector<std::uint64_t>& indices) {
  std::string text = "[";
  for (std::size_t d = 0; d < indices.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(indices[d]);
  return text + "]";
}

}  // namespace

bool NearlyEqual::add(std::span<const double> expected, std::span<const double> got) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    different_ += is_close(expected[i], got[i], tolerance_) ? 0 : 1;
    is_large_ = is_large_ || !is_close(expected[i], 0, tolerance_);
  }
  return !is_too_many(different_, elements_);
}

bool NearlyEqual::is_equal() const {
  return is_large_ && !is_too_many(different_, elements_);
}

Appearance appearance_of(const WrongOutput& output) {
  const std::vector<std::uint64_t> wrong = wrong_elements(output);
  if (wrong.empty()) return {};
  if (auto found = unwritten(output, wrong)) return *found;
  if (auto found = zeros(output, wrong)) return *found;
  if (auto found = transposed(output)) return *found;
  if (auto found = shifted(output)) return *found;
  if (auto found = region(output, wrong)) return *found;
  if (auto found = precision(output)) return *found;
  return {};
}

Appearance appearance_of_form(const Tensor& expected, const Tensor& got) {
  if (expected.kind != got.kind) return {};
  if (expected.dtype != got.dtype && expected.shape == got.shape)
    return {"cast", "only the dtype differs: convert the output to that of the reference"};
  if (expected.dtype != got.dtype) return {};
  Shape reversed = got.shape;
  if (reversed.size() >= 2) std::swap(reversed[reversed.size() - 1], reversed[reversed.size() - 2]);
  if (reversed == expected.shape) return {"transposed", "its last two dimensions are exchanged"};
  if (without_ones(expected.shape) == without_ones(got.shape))
    return {"keepdim", "the shapes differ in dimensions of size 1 only: is keepdim right?"};
  return {};
}

Part part_to_look_at(const Shape& shape, std::uint64_t total, std::uint64_t first) {
  if (total <= kAppearanceElementsMax) return {0, total};
  std::uint64_t unit = shape.empty() ? 1 : static_cast<std::uint64_t>(std::max<std::int64_t>(shape.back(), 1));
  const std::uint64_t matrix =
      shape.size() < 2 ? unit : unit * static_cast<std::uint64_t>(std::max<std::int64_t>(shape[shape.size() - 2], 1));
  if (matrix <= kAppearanceElementsMax) unit = matrix;
  if (unit > kAppearanceElementsMax) unit = 1;
  const std::uint64_t last_begin = (total - kAppearanceElementsMax) / unit * unit;
  const std::uint64_t begin = std::min(first / unit * unit, last_begin);
  return {begin, kAppearanceElementsMax};
}

std::string place_of(const Shape& shape, std::uint64_t element) {
  std::vector<std::uint64_t> indices(shape.size());
  for (std::size_t left = shape.size(); left > 0; --left) {
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(shape[left - 1], 1));
    indices[left - 1] = element % size;
    element /= size;
  }
  return bracketed(indices);
}

std::string place_of_byte(const Tensor& tensor, std::uint64_t byte) {
  const std::string unknown = "byte " + std::to_string(byte);
  const std::uint64_t size = channel::element_bytes(tensor.dtype);
  if (size == 0) return unknown;
  std::uint64_t element = byte / size;
  if (tensor.strides.size() != tensor.shape.size()) return place_of(tensor.shape, element);
  // The dimension with the largest stride is the outermost one in memory.
  std::vector<std::size_t> dims(tensor.shape.size());
  std::iota(dims.begin(), dims.end(), std::size_t{0});
  std::ranges::sort(dims, std::greater(), [&](std::size_t d) { return tensor.strides[d]; });
  std::vector<std::uint64_t> indices(dims.size());
  for (const std::size_t d : dims) {
    if (tensor.strides[d] <= 0 || tensor.shape[d] <= 1) continue;
    const auto stride = static_cast<std::uint64_t>(tensor.strides[d]);
    indices[d] = std::min(element / stride, static_cast<std::uint64_t>(tensor.shape[d]) - 1);
    element -= indices[d] * stride;
  }
  return element == 0 ? bracketed(indices) : unknown;
}

}  // namespace kq::judge
