// The command line of kq-gateway. An option overrides the environment, and the environment overrides the default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/base/error.h"
#include "producer/gateway/gateway.h"
#include "producer/gateway/settings.h"

namespace kq::gateway {

inline constexpr std::string_view kDefaultListen = "127.0.0.1:8000";

struct ServeCommand {
  std::string broker;
  std::string key;  // the path of a key file; empty: none
  std::string host;
  std::uint16_t port = 0;
  std::string tokens;     // the path of the file of tokens; empty: none
  std::string operators;  // the path of the file of operators' tokens; without it no token operates the queue
  std::string popcorn;    // the path of a checkout of problems in GPU MODE's form; empty: none
  bool is_loopback = true;
  net::HttpLimits http{};
  GatewayLimits limits{};
  EvaluationSettings evaluation{};
  std::int64_t drain_ms = 20'000;
  std::string log_level = "info";
  std::string log_format = "auto";
  std::optional<int> ready_fd;
};

// `kq-gateway token NAME`: makes a token and prints its line for the file.
struct TokenCommand {
  std::string name;
  std::uint64_t jobs_max = 0;
};

// --help or --version (code ok, text for standard output), or a mistake (code bad_input, for standard error).
struct EarlyEnd {
  ExitCode code = ExitCode::bad_input;
  std::string text;
};

std::variant<ServeCommand, TokenCommand, EarlyEnd> parse_command_line(int argc, const char* const* argv);

}  // namespace kq::gateway
