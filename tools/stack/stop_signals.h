// Stop signals (SIGINT, SIGTERM, SIGHUP) as values that a program reads where it can react to them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/error.h"

namespace kq::tools {

// Blocks the stop signals of the process, so that they stay pending until take() reads them. It must be constructed in
// main() before a thread is started, because threads inherit the blocked set. It also ignores SIGPIPE: a closed output
// must not end a program that has to stop its child processes first.
class StopSignals {
 public:
  StopSignals();

  // Returns the next stop signal, or nothing when none arrives within `timeout_ms`.
  std::optional<int> take(std::int64_t timeout_ms);

  // Unblocks the stop signals and restores the default action of SIGPIPE; only tests call it, so that a test that
  // constructs StopSignals leaves the process as the next test expects it.
  static void give_back();
};

// Makes SIGPIPE end the process without a message when the reader of its output has left, as in `kq results r | head`.
// For programs that only read and print.
void end_on_closed_output();

// Waits for `ms`, or until a stop signal arrives. Returns whether the caller should stop waiting.
using Sleep = std::function<bool(std::int64_t ms)>;

// Returns the exit code of a process that a signal ended, as a shell reports it: 130 for SIGINT, 143 for SIGTERM.
int exit_code_of_signal(int signal);

}  // namespace kq::tools
