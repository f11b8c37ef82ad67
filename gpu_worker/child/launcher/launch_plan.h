// The launch plan of a CUDA kernel: its name, grid, block and arguments. A build writes it as the file `launch` beside
// module.cubin (harness/kernels/launch_file.py).
//
//   kernel  NAME                         the name of the kernel in the cubin
//   grid    X Y Z      block  X Y Z      shared  BYTES
//   arg     NAME TYPE ROLE DTYPE SHAPE VALUE     one line each, in the kernel's order; "-" for a missing field
//
// Fields are separated by tabs. A build runs no code of the submission, but its compiler reads hostile sources. So
// every field of the file is validated.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "gpu_worker/channel/channel.h"

namespace kq::launcher {

enum class ArgType { tensor, integer, real, boolean };
constexpr std::array<std::string_view, 4> enum_names(ArgType) {
  return {"tensor", "int", "float", "bool"};
}
enum class ArgRole { input, output, inout };
constexpr std::array<std::string_view, 3> enum_names(ArgRole) {
  return {"input", "output", "inout"};
}

inline constexpr std::size_t kLaunchBytesMax = 256u << 10;
inline constexpr std::size_t kArgsMax = 256;

struct LaunchArg {
  std::string name;
  ArgType type = ArgType::tensor;
  ArgRole role = ArgRole::input;
  channel::Dtype dtype = channel::Dtype::none;       // none: the file does not say
  std::optional<std::vector<std::int64_t>> shape{};  // nothing: the file does not say
  std::optional<double> real{};                      // the value of a float, if the file has one
  std::optional<std::int64_t> integer{};             // the value of an int or a bool, if the file has one
};

struct LaunchPlan {
  std::string kernel;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::uint32_t shared_bytes = 0;
  std::vector<LaunchArg> args{};
};

// Parses the text of a launch file. The error names the first line that is not valid.
Expected<LaunchPlan> parse_launch(std::string_view text);

// Returns the name of a type, "float32", or an empty string for Dtype::none and unknown values.
std::string_view name_of(channel::Dtype dtype);
// Returns a type with a shape, "float32[3, 4]".
std::string describe(channel::Dtype dtype, const std::vector<std::int64_t>& shape);

}  // namespace kq::launcher
