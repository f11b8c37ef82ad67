// The tables of inputs, outputs and states that a child writes into the channel page. A child may write anything there:
// read_table() returns a table that is safe to use, or says what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "gpu_worker/channel/channel.h"
#include "gpu_worker/judge/tensor/tolerance.h"
#include "sys/printable.h"

namespace kq::judge {

// The limit is larger than any machine's memory, and small enough that the sum over all tables cannot overflow.
inline constexpr std::uint64_t kTensorBytesMax = 1ull << 48;

// One row of a table. Kind and dtype are always known ones, shape has at most kDimsMax sizes >= 0, and bytes is their
// product times the element's size, at most kTensorBytesMax. A plain value has no shape, no dtype and no bytes.
struct Tensor {
  std::string name = {};  // printable, at most as long as the page's field
  channel::Kind kind = channel::Kind::none;
  channel::Dtype dtype = channel::Dtype::none;
  std::vector<std::int64_t> shape = {};
  std::uint64_t bytes = 0;
  channel::Place place = channel::Place::window;
  // Place::window: the offset in the window, set by make_layout() only. Place::arena: the offset in the arena as the
  // child wrote it; the caller compares it with the arena's size. Place::process: the address as the child wrote it.
  std::uint64_t offset = 0;
  std::int64_t integer = 0;
  double real = 0;
  std::optional<ProblemTolerance> tolerance = std::nullopt;  // of an output of the reference
  std::vector<std::int64_t> strides = {};  // of an input that is not row-major; then `bytes` follows from them
};

struct Tables {
  std::vector<Tensor> inputs = {};
  std::vector<Tensor> outputs = {};
  std::vector<Tensor> states = {};
};

// Checks rows that have been copied out of the page. The unexpected value is a message about the first row that is
// wrong; `what` names a row in it: "output 0 with a negative size". Strides are read from tables of inputs only.
enum class Strides { ignored, read };
tl::expected<std::vector<Tensor>, std::string> read_table(std::span<const channel::TensorDesc> rows,
                                                          const std::string& what, Strides strides = Strides::ignored);

// One workload of a problem. The name is printable and not empty, the weight is finite, and 0 for one without a time.
struct WorkloadRow {
  std::string name;
  double weight = 1;

  friend bool operator==(const WorkloadRow&, const WorkloadRow&) = default;
};

// Checks rows that have been copied out of the page, as read_table() does. Refuses two workloads of one name.
tl::expected<std::vector<WorkloadRow>, std::string> read_workload_table(std::span<const channel::WorkloadDesc> rows);

// Writes the problem's tolerances into the rows of its outputs. The unexpected value is a message about the first that
// is wrong.
tl::expected<void, std::string> read_tolerances(std::span<const channel::ToleranceDesc> rows,
                                                std::vector<Tensor>& outputs);

// Returns the tensor as a row of the page.
channel::TensorDesc row_of(const Tensor& tensor);

// How a tensor differs from the expected one in kind, dtype, shape or strides. Values are not compared.
struct FormDifference {
  std::string reason;   // "shape", also for strides, or "dtype"; empty where they do not differ
  std::string message;  // "is float32[3, 2], must be float32[2, 3]"
};
FormDifference difference(const Tensor& expected, const Tensor& got);
bool same_form(std::span<const Tensor> a, std::span<const Tensor> b);

// Returns "float32[3, 4]" for a tensor, with " by strides [1, 3]" where it has some, or the name of the kind:
// "integer", "None".
std::string describe(const Tensor& tensor);

}  // namespace kq::judge
