// What a child prints: its head and its tail are kept, the rest is read and dropped, so that it can neither block nor
// fill anything.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "core/limits.h"
#include "sys/fd.h"

namespace kq::sys {

// Keeps the first and the last half of `bytes_max` bytes.
class CappedLog {
 public:
  explicit CappedLog(std::size_t bytes_max) : half_(bytes_max / 2) {}
  void append(std::string_view bytes);
  // Head, a line saying how much is missing, tail. Control characters but newline and tab become '?', so that a log
  // cannot drive a terminal.
  std::string text() const;

 private:
  std::size_t half_;
  std::string head_;
  std::string tail_;
  std::uint64_t dropped_ = 0;
};

// Reads a pipe on a thread of its own until every writer has closed it.
class LogPump {
 public:
  // The pump keeps the read end; the write end goes to the child.
  static Expected<std::pair<LogPump, Fd>> open();
  LogPump(LogPump&&) = default;
  ~LogPump();

  // Waits for the end of the pipe, at most `timeout_ms`: a writer that will not die must not hold the lane.
  std::string finish(std::int64_t timeout_ms);
  // What was written until now, whoever may still write.
  std::string so_far();

 private:
  struct State;
  LogPump(std::shared_ptr<State> state, std::thread thread);
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace kq::sys
