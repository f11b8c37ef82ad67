// kq-down: stops the broker and the worker that kq-up runs in a state folder.
//
// The process of kq-up holds a lock on the folder and stops both programs when it receives SIGTERM. kq-down sends that
// signal and waits until the lock is free.
#include <poll.h>
#include <signal.h>

#include <cerrno>
#include <iostream>
#include <string>

#include "producer/client/client.h"
#include "producer/client/sentences.h"
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

// How long the broker may take to say how many jobs are unfinished.
constexpr std::int64_t kCountMs = 2'000;

void wait_ms(std::int64_t ms) {
  ::poll(nullptr, 0, static_cast<int>(ms));
}

// Asks a broker that is about to stop how many jobs are unfinished, and returns what becomes of them: with the next
// start the broker queues the jobs of its store again. Returns an empty text where none is unfinished, or the broker
// does not say.
std::string unfinished_text(const std::string& url, const std::string& key, const std::string& up) {
  auto client = kq::producer::Client::connect(url, key);
  if (!client) return "";
  const auto broker = client->ask_for<kq::BrokerReply>(kq::BrokerQuery{}, kCountMs);
  if (!broker || broker->queued + broker->leased == 0) return "";
  std::string text = "; ";
  if (broker->queued > 0)
    text += kq::producer::counted(broker->queued, "job") + (broker->queued == 1 ? " waits" : " wait");
  if (broker->queued > 0 && broker->leased > 0) text += " and ";
  if (broker->leased > 0)
    text += kq::producer::counted(broker->leased, "job") + (broker->leased == 1 ? " was" : " were") + " running";
  return text + ": what is unfinished is kept and goes on with the next " + up;
}

// Returns how to stop the stack of the last kq up where it runs in another state folder than `state`, else an empty
// text.
std::string elsewhere_text(const std::string& state) {
  const std::string other = kq::tools::last_up_folder(kq::tools::process_environment);
  if (other.empty() || other == state || !kq::tools::holder_of(other)) return "";
  return "; the last kq up runs in " + other + ": kq down --state " + kq::producer::shell_quoted(other) + " stops it";
}

int run(int argc, char** argv) {
  std::string state;
  std::string key;
  std::string unfinished;
  std::string up = "kq up";
  kq::tools::Flags flags(
      kProgram, "Stops the broker and the worker that kq-up runs in a state folder, and waits until they have ended.");
  flags.option("--state", "DIR", "the state folder that kq-up was given (default: $XDG_STATE_HOME/kq)", state);
  flags.option("--key", "FILE", "your key file, to count the unfinished jobs of a broker that requires keys", key,
               "KQ_KEY");
  if (const auto code = flags.parse(argc, argv)) return static_cast<int>(*code);
  if (!state.empty()) up += " --state " + kq::producer::shell_quoted(state);
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
                << state << unfinished << (signalled_pid != 0 ? "" : elsewhere_text(state)) << '\n';
      return static_cast<int>(ExitCode::ok);
    }
    // A holder that has just taken the lock has not written its process id yet.
    if (holder->pid > 0 && holder->pid != signalled_pid) {
      if (signalled_pid == 0 && !holder->url.empty()) unfinished = unfinished_text(holder->url, key, up);
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
