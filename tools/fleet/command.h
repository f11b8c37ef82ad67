// Runs a program to its end and returns what it printed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace kq::tools {

inline constexpr std::int64_t kCommandLimitMs = 60'000;          // a program that runs for longer is killed
inline constexpr std::size_t kCommandOutputBytesMax = 8u << 20;  // output beyond this is dropped

struct CommandEnd {
  int exit_code = 0;     // as a shell reports it: 127 when the program cannot be started, 128 and more for a signal
  std::string output{};  // standard output and standard error together
};

// Variables that are added to the environment of a program or replace those of this process.
using Variables = std::vector<std::pair<std::string, std::string>>;

// Runs a program whose name is looked up in PATH.
using RunCommand =
    std::function<Expected<CommandEnd>(const std::vector<std::string>& words, const Variables& environment)>;

// The real RunCommand. Fails when no process can be made, or when the program runs for longer than `limit_ms`.
Expected<CommandEnd> run_command(const std::vector<std::string>& words, const Variables& environment,
                                 std::int64_t limit_ms = kCommandLimitMs);

}  // namespace kq::tools
