// One child program of ours: started with its own log, told to end when we end, and reaped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/stack/stop_signals.h"

namespace kq::tools {

struct Command {
  std::vector<std::string> words;  // the program's path and its arguments
  std::string log;                 // file its stdout and stderr are appended to
  int inherited_fd = -1;           // the one descriptor it gets beside 0, 1 and 2
};

inline constexpr std::int64_t kAskAgainMs = 1'000;

// Leads its own process group, so that a terminal's ^C reaches us alone and we decide the order of the ending. Gets
// SIGINT when the thread that started it dies, however it dies: a worker then leaves at once. On SIGTERM it would
// finish its jobs first, for a broker that ends as well.
class Process {
 public:
  static Expected<Process> start(const Command& command);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  // SIGKILL for the whole group, if it still runs

  pid_t pid() const { return pid_; }
  // "exit code 3", "signal 9 (Killed)" once it has ended; nothing while it runs.
  std::optional<std::string> ended();

  // SIGTERM, the same again after kAskAgainMs (the second tells a worker to give back what it is at instead of
  // finishing it), SIGKILL for its group after `grace_ms`, or at once when `sleep` says to hurry. Returns when it is
  // reaped.
  void stop(std::int64_t grace_ms, const Sleep& sleep);

  // The last lines of what this start of it wrote, each indented; empty for none.
  std::string log_tail() const;

 private:
  Process(pid_t pid, std::string log, std::int64_t log_start)
      : pid_(pid), log_(std::move(log)), log_start_(log_start) {}

  pid_t pid_ = 0;
  std::string log_;
  std::int64_t log_start_ = 0;
  std::optional<std::string> end_;
};

}  // namespace kq::tools
