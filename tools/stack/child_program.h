// A child process that runs one of kq's programs, with a log file of its own.
//
// The child leads its own process group, so that Ctrl-C on a terminal reaches only the parent, which decides the order
// in which its children end. The kernel sends SIGINT to the child when the thread that started it dies, for whatever
// reason. SIGINT makes a worker leave at once; on SIGTERM a worker would finish its jobs first, for a broker that ends
// as well.
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
  std::vector<std::string> words;  // path and arguments of the program
  std::string log;                 // file to which standard output and standard error are appended
  int inherited_fd = -1;           // a descriptor that the program inherits beside 0, 1 and 2; -1 for none
};

inline constexpr std::int64_t kAskAgainMs = 1'000;  // between the first and the second SIGTERM of stop()

// A running or ended child process. The destructor kills and reaps a process that still runs.
class Process {
 public:
  static Expected<Process> start(const Command& command);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();

  pid_t pid() const { return pid_; }
  // Returns how the process has ended, such as "exit code 3" or "signal 9 (Killed)", or nothing while it runs.
  std::optional<std::string> ended();

  // Ends the process and reaps it. Sends SIGTERM, a second SIGTERM after kAskAgainMs, which makes a worker return its
  // jobs instead of finishing them, and SIGKILL to the process group after `grace_ms`, or as soon as `sleep` returns
  // true.
  void stop(std::int64_t grace_ms, const Sleep& sleep);

  // Returns the last lines that this process has written to its log, each on an indented line; empty for none.
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
