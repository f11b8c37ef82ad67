// Reads the output of a child process, without a limit on its length.
//
// The first and the last bytes are kept and the rest is dropped, so that a child can neither block on a full pipe nor
// fill the worker's memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "core/limits.h"
#include "sys/fd.h"

namespace kq::sys {

// A text of which the first and the last `bytes_max` / 2 bytes are kept.
class CappedLog {
 public:
  explicit CappedLog(std::size_t bytes_max) : half_(bytes_max / 2) {}
  void append(std::string_view bytes);
  // Returns the head, a line with the number of dropped bytes if there are any, and the tail. Control characters other
  // than newline and tab become '?', so that a log cannot send commands to a terminal.
  std::string text() const;

 private:
  std::size_t half_;
  std::string head_;
  std::string tail_;
  std::uint64_t dropped_ = 0;
};

// A pipe and a thread that reads it until every writer has closed it.
class LogPump {
 public:
  // Returns the pump, which owns the read end, and the write end for the child.
  static Expected<std::pair<LogPump, Fd>> open();
  LogPump(LogPump&&) = default;
  ~LogPump();

  // Waits at most `timeout_ms` until all writers have closed the pipe, stops reading and returns the log.
  std::string finish(std::int64_t timeout_ms);
  // Returns the log up to now. Writers may go on.
  std::string so_far();

 private:
  struct State;
  LogPump(std::shared_ptr<State> state, std::thread thread);
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace kq::sys
