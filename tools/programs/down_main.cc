// kq-down: stops the broker and the worker that kq-up runs in a state folder.
//
// The process of kq-up holds a lock on the folder and stops both programs when it receives SIGTERM. kq-down sends that
// signal and waits until the lock is free.
#include <poll.h>
#include <signal.h>

#include <cerrno>
#include <iostream>
#include <string>

#include "producer/client/standard_output.h"
#include "sys/error_text.h"
#include "tools/cli/flags.h"
#include "tools/stack/stack.h"
#include "tools/stack/state_folder.h"

namespace {

using kq::ErrorKind;
using kq::ExitCode;
using kq::tools::report_error;

const std::string kProgram = "kq-down";
constexpr std::int64_t kStepMs = 50;
// kq-up stops its programs within their own limits and then ends.
constexpr std::int64_t kLimitMs =
    kq::tools::kGatewayStopMs + kq::tools::kWorkerStopMs + kq::tools::kBrokerStopMs + 10'000;

void wait_ms(std::int64_t ms) {
  ::poll(nullptr, 0, static_cast<int>(ms));
}

int run(int argc, char** argv) {
  std::string state;
  kq::tools::Flags flags(
      kProgram, "Stops the broker and the worker that kq-up runs in a state folder, and waits until they have ended.");
  flags.option("--state", "DIR", "the state folder that kq-up was given (default: $XDG_STATE_HOME/kq)", state);
  if (const auto code = flags.parse(argc, argv)) return static_cast<int>(*code);
  if (state.empty()) {
    const auto folder = kq::tools::default_state_folder(kq::tools::process_environment);
    if (!folder) return report_error(kProgram, folder.error());
    state = *folder;
  }
  pid_t signalled_pid = 0;
  for (std::int64_t waited = 0; waited < kLimitMs; waited += kStepMs) {
    const auto holder = kq::tools::holder_of(state);
    if (!holder) {
      std::cerr << kProgram << ": "
                << (signalled_pid != 0 ? "stopped the broker and the worker in " : "already down: nothing runs in ")
                << state << '\n';
      return static_cast<int>(ExitCode::ok);
    }
    // A holder that has just taken the lock has not written its process id yet.
    if (holder->pid > 0 && holder->pid != signalled_pid) {
      signalled_pid = holder->pid;
      if (::kill(signalled_pid, SIGTERM) != 0 && errno != ESRCH) {
        return report_error(kProgram, {ErrorKind::our_fault, "cannot stop process " + std::to_string(signalled_pid) +
                                                                 ": " + kq::sys::error_text(errno)});
      }
    }
    wait_ms(kStepMs);
  }
  return report_error(kProgram,
                      {ErrorKind::our_fault, "process " + std::to_string(signalled_pid) + " still runs after " +
                                                 std::to_string(kLimitMs / 1000) + " s; see the logs in " + state});
}

}  // namespace

int main(int argc, char** argv) {
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
