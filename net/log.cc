#include "net/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace kq::net {
namespace {

// Formats log lines as JSON. spdlog's own patterns cannot escape strings.
class JsonFormatter final : public spdlog::formatter {
 public:
  explicit JsonFormatter(std::string program) : program_(std::move(program)) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& into) override {
    const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(message.time.time_since_epoch());
    const auto level = spdlog::level::to_string_view(message.level);
    const std::string line = log_line_json(since.count(), {level.data(), level.size()}, program_, ::getpid(),
                                           {message.payload.data(), message.payload.size()}) +
                             "\n";
    into.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(program_); }

 private:
  std::string program_;
};

}  // namespace

void start_log(const std::string& program, LogFormat format, const std::string& level) {
  const auto log = spdlog::stderr_color_mt(program);
  if (format == LogFormat::json || (format == LogFormat::automatic && isatty(STDERR_FILENO) == 0)) {
    log->set_formatter(std::make_unique<JsonFormatter>(program));
  }
  spdlog::set_default_logger(log);
  spdlog::set_level(spdlog::level::from_str(level));
}

std::string log_line_json(std::int64_t unix_ms, std::string_view level, std::string_view program, int pid,
                          std::string_view message) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char day[32];
  std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
  char time[48];
  std::snprintf(time, sizeof time, "%s.%03dZ", day, static_cast<int>(unix_ms % 1000));
  nlohmann::ordered_json line;
  line["time"] = time;
  line["level"] = level;
  line["program"] = program;
  line["pid"] = pid;
  line["message"] = message;
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace kq::net
