// ^C and its kin as something a program asks for, in the place where it can answer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/base/error.h"

namespace kq::tools {

// While it lives, SIGINT, SIGTERM and SIGHUP wait in the kernel until taken here. Make it in main() before any thread
// is started, so that every thread leaves them alone. Also SIGPIPE: a reader that leaves must not end a program that
// has others to look after.
class StopSignals {
 public:
  StopSignals();

  // The next of them, waiting at most `timeout_ms`; nothing if none came.
  std::optional<int> take(std::int64_t timeout_ms);

  // What a process that is about to exec must undo.
  static void give_back();
};

// For programs that only read and print: a reader that has left (`| head`) ends them, quietly.
void end_on_closed_output();

// Waits a little; true: whoever waits should give up. The seam between what waits and the signals.
using Sleep = std::function<bool(std::int64_t ms)>;

// 130 for SIGINT, 143 for SIGTERM.
int exit_code_of_signal(int signal);

}  // namespace kq::tools
