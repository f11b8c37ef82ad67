#include "gpu_worker/child/launcher/launch_plan.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

namespace kq::launcher {
namespace {

using channel::Dtype;

constexpr std::uint32_t kSizeMax = 0x7FFFFFFF;  // of a dimension of the grid or a block, and of shared memory
// The names of the types in the order of channel::Dtype, whose first value is none.
constexpr std::array<std::string_view, 22> kDtypes{"",
                                                   "float64",
                                                   "float32",
                                                   "float16",
                                                   "bfloat16",
                                                   "int64",
                                                   "int32",
                                                   "int16",
                                                   "int8",
                                                   "uint8",
                                                   "bool",
                                                   "complex64",
                                                   "complex128",
                                                   "float8_e4m3fn",
                                                   "float8_e5m2",
                                                   "float8_e4m3fnuz",
                                                   "float8_e5m2fnuz",
                                                   "float8_e8m0fnu",
                                                   "uint16",
                                                   "uint32",
                                                   "uint64",
                                                   "complex32"};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <class T>
std::optional<T> number(std::string_view text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) return std::nullopt;
  return value;
}

// Parses a number as Python's float.hex() writes it, or "inf" or "nan".
std::optional<double> real_number(std::string_view text) {
  const std::string whole(text);
  char* end = nullptr;
  const double value = std::strtod(whole.c_str(), &end);
  return whole.empty() || end != whole.c_str() + whole.size() ? std::nullopt : std::optional(value);
}

bool read_dims(const std::vector<std::string_view>& fields, std::array<std::uint32_t, 3>& dims) {
  if (fields.size() != 4) return false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto size = number<std::uint32_t>(fields[i + 1], 1, kSizeMax);
    if (!size) return false;
    dims[i] = *size;
  }
  return true;
}

bool read_shape(std::string_view text, std::optional<std::vector<std::int64_t>>& shape) {
  if (text == "-") return true;
  shape.emplace();
  if (text.empty()) return true;
  for (const std::string_view part : split(text, ',')) {
    const auto size = number<std::int64_t>(part, 0, std::numeric_limits<std::int64_t>::max());
    if (!size || shape->size() >= channel::kDimsMax) return false;
    shape->push_back(*size);
  }
  return true;
}

// Reads the field VALUE of an argument. The value of a tensor is always missing.
bool read_value(std::string_view text, LaunchArg& arg) {
  if (text == "-") return true;
  switch (arg.type) {
    case ArgType::tensor:
      return false;
    case ArgType::real:
      arg.real = real_number(text);
      return arg.real.has_value();
    case ArgType::boolean:
      arg.integer = number<std::int64_t>(text, 0, 1);
      return arg.integer.has_value();
    case ArgType::integer:
      arg.integer = number<std::int64_t>(text, std::numeric_limits<std::int64_t>::min(),
                                         std::numeric_limits<std::int64_t>::max());
      return arg.integer.has_value();
  }
  return false;
}

bool read_arg(const std::vector<std::string_view>& fields, LaunchPlan& plan) {
  if (fields.size() != 7 || fields[1].empty() || plan.args.size() >= kArgsMax) return false;
  const auto type = parse_enum<ArgType>(fields[2]);
  const auto role = parse_enum<ArgRole>(fields[3]);
  const auto dtype = std::find(kDtypes.begin(), kDtypes.end(), fields[4] == "-" ? std::string_view() : fields[4]);
  if (!type || !role || dtype == kDtypes.end() || (*type != ArgType::tensor && *role != ArgRole::input)) return false;
  LaunchArg arg{.name = std::string(fields[1]),
                .type = *type,
                .role = *role,
                .dtype = static_cast<Dtype>(dtype - kDtypes.begin())};
  if (!read_shape(fields[5], arg.shape) || !read_value(fields[6], arg)) return false;
  plan.args.push_back(std::move(arg));
  return true;
}

bool read_line(const std::vector<std::string_view>& fields, LaunchPlan& plan) {
  if (fields[0] == "grid") return read_dims(fields, plan.grid);
  if (fields[0] == "block") return read_dims(fields, plan.block);
  if (fields[0] == "arg") return read_arg(fields, plan);
  if (fields.size() != 2) return false;
  if (fields[0] == "kernel") {
    plan.kernel = fields[1];
    return !plan.kernel.empty();
  }
  if (fields[0] != "shared") return false;
  const auto bytes = number<std::uint32_t>(fields[1], 0, kSizeMax);
  plan.shared_bytes = bytes.value_or(0);
  return bytes.has_value();
}

}  // namespace

Expected<LaunchPlan> parse_launch(std::string_view text) {
  LaunchPlan plan;
  std::size_t line_number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++line_number;
    if (!line.empty() && !read_line(split(line, '\t'), plan))
      return our_fault("line " + std::to_string(line_number) + " of the build's launch file is not valid");
  }
  if (plan.kernel.empty() || plan.grid[0] == 0 || plan.block[0] == 0)
    return our_fault("the build's launch file lacks a kernel, a grid or a block");
  return plan;
}

std::string_view name_of(Dtype dtype) {
  const auto at = static_cast<std::size_t>(dtype);
  return at < kDtypes.size() ? kDtypes[at] : std::string_view();
}

std::string describe(Dtype dtype, const std::vector<std::int64_t>& shape) {
  std::string text(name_of(dtype));
  text += '[';
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + ']';
}

}  // namespace kq::launcher
