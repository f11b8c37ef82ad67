#include "gpu_worker/judge/tensor/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <string_view>

#include "core/base/check.h"

namespace kq::judge {
namespace {

using channel::Dtype;
using channel::Kind;
using channel::Place;
using channel::TensorDesc;

constexpr std::array<std::string_view, 5> kKindNames{"None", "tensor", "integer", "real", "boolean"};
constexpr std::array<std::string_view, 22> kDtypeNames{
    "none",       "float64",       "float32",     "float16",         "bfloat16",        "int64",
    "int32",      "int16",         "int8",        "uint8",           "boolean",         "complex64",
    "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
    "uint16",     "uint32",        "uint64",      "complex32"};

template <class E, std::size_t N>
bool known(E value, const std::array<std::string_view, N>&) {
  return static_cast<std::uint32_t>(value) < N;
}
template <class E, std::size_t N>
std::string name_of(E value, const std::array<std::string_view, N>& names) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

// Returns the bytes from the first to behind the last element of a tensor with strides, or a message.
tl::expected<std::uint64_t, std::string> spanned_bytes(const Tensor& tensor) {
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::uint64_t reach = 0;
    if (tensor.strides[i] < 0) return tl::unexpected<std::string>("a negative stride");
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(tensor.shape[i] - 1),
                               static_cast<std::uint64_t>(tensor.strides[i]), &reach) ||
        __builtin_add_overflow(elements, reach, &elements) || elements > kTensorBytesMax) {
      return tl::unexpected<std::string>("strides beyond any memory");
    }
  }
  const std::uint64_t bytes = elements * channel::element_bytes(tensor.dtype);
  if (bytes > kTensorBytesMax) return tl::unexpected<std::string>("strides beyond any memory");
  return bytes;
}

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
  return text + "]";
}

tl::expected<Tensor, std::string> read_row(const TensorDesc& row, Strides strides) {
  if (!known(row.kind, kKindNames)) return tl::unexpected<std::string>("an unknown kind");
  Tensor tensor;
  tensor.name = sys::printable(std::string_view(row.name, ::strnlen(row.name, sizeof row.name)), sizeof row.name);
  tensor.kind = row.kind;
  tensor.integer = row.integer;
  tensor.real = row.real;
  if (row.kind != Kind::tensor) return tensor;
  if (row.place > Place::process) return tl::unexpected<std::string>("an unknown place");
  tensor.place = row.place;
  if (row.place != Place::window) tensor.offset = row.offset;

  if (!known(row.dtype, kDtypeNames) || row.dtype == Dtype::none)
    return tl::unexpected<std::string>("an unknown dtype");
  if (row.ndim > channel::kDimsMax) return tl::unexpected<std::string>("too many dimensions");
  tensor.dtype = row.dtype;
  tensor.shape.assign(row.shape, row.shape + row.ndim);
  if (std::ranges::any_of(tensor.shape, [](std::int64_t size) { return size < 0; }))
    return tl::unexpected<std::string>("a negative size");
  tensor.bytes = channel::element_bytes(row.dtype);
  if (std::ranges::find(tensor.shape, 0) != tensor.shape.end()) tensor.bytes = 0;
  if (tensor.bytes == 0) return tensor;
  for (std::int64_t size : tensor.shape) {
    if (__builtin_mul_overflow(tensor.bytes, static_cast<std::uint64_t>(size), &tensor.bytes) ||
        tensor.bytes > kTensorBytesMax) {
      return tl::unexpected<std::string>("a size beyond any memory");
    }
  }
  if (strides == Strides::ignored || row.is_strided == 0) return tensor;
  tensor.strides.assign(row.strides, row.strides + row.ndim);
  KQ_TRY_VALUE(tensor.bytes, spanned_bytes(tensor));
  return tensor;
}

}  // namespace

tl::expected<std::vector<Tensor>, std::string> read_table(std::span<const TensorDesc> rows, const std::string& what,
                                                          Strides strides) {
  std::vector<Tensor> table;
  table.reserve(rows.size());
  for (const TensorDesc& row : rows) {
    auto tensor = read_row(row, strides);
    if (!tensor) return tl::unexpected(what + " " + std::to_string(table.size()) + " with " + tensor.error());
    table.push_back(std::move(*tensor));
  }
  return table;
}

tl::expected<std::vector<WorkloadRow>, std::string> read_workload_table(std::span<const channel::WorkloadDesc> rows) {
  std::vector<WorkloadRow> table;
  std::set<std::string> names;
  for (const channel::WorkloadDesc& row : rows) {
    const std::string what = "workload " + std::to_string(table.size());
    std::string name =
        sys::printable(std::string_view(row.name, ::strnlen(row.name, sizeof row.name)), sizeof row.name);
    if (name.empty()) return tl::unexpected(what + " without a name");
    if (!names.insert(name).second) return tl::unexpected(what + " with the name of another workload");
    if (!std::isfinite(row.weight) || row.weight < 0)
      return tl::unexpected(what + " with a weight that is negative or no number");
    table.push_back({.name = std::move(name), .weight = row.weight});
  }
  return table;
}

tl::expected<void, std::string> read_tolerances(std::span<const channel::ToleranceDesc> rows,
                                                std::vector<Tensor>& outputs) {
  const auto limit = [](double value) { return value < 0 ? std::nullopt : std::optional(value); };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const channel::ToleranceDesc& row = rows[i];
    if (row.matched == 0) continue;
    // Written so that NaN is refused as well.
    if (!(row.rtol <= 1) || !(row.atol <= 1) || !(row.matched > 0 && row.matched <= 1))
      return tl::unexpected("output " + std::to_string(i) + " with a tolerance that is not from 0 to 1");
    outputs[i].tolerance = {.rtol = limit(row.rtol), .atol = limit(row.atol), .matched = row.matched};
  }
  return {};
}

TensorDesc row_of(const Tensor& tensor) {
  TensorDesc row{};
  KQ_CHECK(tensor.shape.size() <= channel::kDimsMax);
  std::memcpy(row.name, tensor.name.data(), std::min(tensor.name.size(), sizeof row.name - 1));
  row.kind = tensor.kind;
  row.dtype = tensor.dtype;
  row.ndim = static_cast<std::uint32_t>(tensor.shape.size());
  std::copy(tensor.shape.begin(), tensor.shape.end(), row.shape);
  row.place = tensor.place;
  row.offset = tensor.offset;
  row.bytes = tensor.bytes;
  row.integer = tensor.integer;
  row.real = tensor.real;
  row.is_strided = tensor.strides.empty() ? 0 : 1;
  std::copy(tensor.strides.begin(), tensor.strides.end(), row.strides);
  return row;
}

FormDifference difference(const Tensor& expected, const Tensor& got) {
  if (expected.kind == got.kind && expected.dtype == got.dtype && expected.shape == got.shape &&
      expected.strides == got.strides) {
    return {};
  }
  const bool is_dtype = expected.kind != got.kind || expected.dtype != got.dtype;
  return {is_dtype ? "dtype" : "shape", "is " + describe(got) + ", must be " + describe(expected)};
}

bool same_form(std::span<const Tensor> a, std::span<const Tensor> b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return difference(x, y).reason.empty(); });
}

std::string describe(const Tensor& tensor) {
  if (tensor.kind != Kind::tensor) return name_of(tensor.kind, kKindNames);
  std::string text = name_of(tensor.dtype, kDtypeNames) + list_of(tensor.shape);
  return tensor.strides.empty() ? text : text + " by strides " + list_of(tensor.strides);
}

}  // namespace kq::judge
