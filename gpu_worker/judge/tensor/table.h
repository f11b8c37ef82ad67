// What a child said its arguments, outputs and parameters look like: the hostile tables of the channel page, made safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "gpu_worker/channel/channel.h"
#include "sys/printable.h"

namespace kq::judge {

// Larger than any machine's memory, small enough that sums of all tables cannot overflow.
inline constexpr std::uint64_t kTensorBytesMax = 1ull << 48;

// One row of a table. Always true: kind and dtype are known, shape has at most kDimsMax sizes >= 0, and bytes is their
// product times the element's, at most kTensorBytesMax. A plain value has no shape, no dtype and no bytes.
struct Tensor {
  std::string name = {};  // printable, bounded
  channel::Kind kind = channel::Kind::none;
  channel::Dtype dtype = channel::Dtype::none;
  std::vector<std::int64_t> shape = {};
  std::uint64_t bytes = 0;
  channel::Place place = channel::Place::window;
  std::uint64_t offset =
      0;  // in the window, set by the judge's layout only; in the arena, what the child says: to be held to its size
  std::int64_t integer = 0;
  double real = 0;
};

struct Tables {
  std::vector<Tensor> inputs = {};
  std::vector<Tensor> outputs = {};
  std::vector<Tensor> states = {};
};

// Reads rows that a child wrote, already copied out of the page. The unexpected side says what no honest child writes.
tl::expected<std::vector<Tensor>, std::string> read_table(std::span<const channel::TensorDesc> rows,
                                                          const std::string& what);

channel::TensorDesc row_of(const Tensor& tensor);

// How `got` differs from `expected` in kind, dtype or shape: reason is "shape" or "dtype"; empty for none. Values are
// not looked at.
struct FormDifference {
  std::string reason;
  std::string message;
};
FormDifference difference(const Tensor& expected, const Tensor& got);
bool same_form(std::span<const Tensor> a, std::span<const Tensor> b);

// "float32[3, 4]", "integer", "None"
std::string describe(const Tensor& tensor);

}  // namespace kq::judge
