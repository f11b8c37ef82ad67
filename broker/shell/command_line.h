// The command line of kq-broker. A flag overrides the environment, which overrides the default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "broker/core/options.h"
#include "broker/standby/service.h"
#include "core/base/error.h"

namespace kq::broker {

struct CommandLine {
  std::string bind;  // the URL to listen on
  std::string store_dir;
  BrokerOptions options;
  std::string key_folder{};       // net/keys.h; empty: no keys
  std::optional<int> ready_fd{};  // the descriptor to write "ready URL" to once requests are answered
  std::string log_level = "info";
  std::string log_format = "auto";
  std::optional<std::uint16_t> metrics_port{};  // serve Prometheus metrics at this port; 0: any free port
  std::string metrics_bind = "127.0.0.1";
  StandbyOptions standby{};
  std::string standby_key{};  // key file of the role standby, for the other broker
};

// The program ends at once: for --help or --version (code ok, text for stdout), or for a mistake (code bad_input, text
// for stderr).
struct EarlyEnd {
  ExitCode code = ExitCode::bad_input;
  std::string text;
};

std::variant<CommandLine, EarlyEnd> parse_command_line(int argc, const char* const* argv);

}  // namespace kq::broker
