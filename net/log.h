// The log of a long-running program: it goes to standard error, as text lines or as one JSON object per line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/enum_names.h"

namespace kq::net {

enum class LogFormat { automatic, text, json };  // automatic: text on a terminal, JSON otherwise
constexpr std::array<std::string_view, 3> enum_names(LogFormat) {
  return {"auto", "text", "json"};
}

// Makes standard error spdlog's default log. `level` is a level of spdlog: debug, info, warning, error or off.
void start_log(const std::string& program, LogFormat format, const std::string& level);

// Returns one JSON object without spaces and newline, for example
// {"time":"2026-11-21T13:12:51.123Z","level":"info","program":"kq-broker","pid":17,"message":"..."}
// Bytes of `message` that are not UTF-8 become U+FFFD.
std::string log_line_json(std::int64_t unix_ms, std::string_view level, std::string_view program, int pid,
                          std::string_view message);

}  // namespace kq::net
