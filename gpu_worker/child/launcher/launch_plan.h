// How a CUDA kernel is launched, and with what: the file `launch` that its build leaves beside module.cubin
// (harness/launch_file.py).
//
//   kernel  NAME                         as the cubin names it
//   grid    X Y Z      block  X Y Z      shared  BYTES
//   arg     NAME TYPE ROLE DTYPE SHAPE VALUE     one line each, in the kernel's order; "-" for what is not said
//
// Fields are separated by tabs. A build runs no code of the submission, but its compiler has read it: nothing of the
// file is believed unseen.
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

}  // namespace kq::launcher

namespace kq::launcher {

inline constexpr std::size_t kLaunchBytesMax = 256u << 10;
inline constexpr std::size_t kArgsMax = 256;

struct LaunchArg {
  std::string name;
  ArgType type = ArgType::tensor;
  ArgRole role = ArgRole::input;
  channel::Dtype dtype = channel::Dtype::none;       // none: not said
  std::optional<std::vector<std::int64_t>> shape{};  // nothing: not said
  std::optional<double> real{};                      // a value that was said: of a float,
  std::optional<std::int64_t> integer{};             // of an int or a bool
};

struct LaunchPlan {
  std::string kernel;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::uint32_t shared_bytes = 0;
  std::vector<LaunchArg> args{};
};

Expected<LaunchPlan> parse_launch(std::string_view text);

// "float32"; empty for none.
std::string_view name_of(channel::Dtype dtype);
// "float32[3, 4]"
std::string describe(channel::Dtype dtype, const std::vector<std::int64_t>& shape);

}  // namespace kq::launcher
