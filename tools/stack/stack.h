// A broker and a worker as child processes: the embedded default of kq sweep and kq up. The real programs, found beside
// the tool.
//
// The stack holds its state folder (tools/stack/state_folder.h) while it lives. The broker is up before the worker
// starts; both say so on a pipe. One that ends by itself is started again, a few times; the store keeps every job, and
// the other side connects again. The worker is stopped before the broker, so that its leases come back. Should we die,
// the kernel tells both to end, and whoever takes the state folder next waits for them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/stack/child_program.h"
#include "tools/stack/state_folder.h"
#include "tools/stack/stop_signals.h"

namespace kq::tools {

struct StackPlan {
  std::string state_folder;
  std::string broker_url;                 // empty: a private socket
  std::string key_folder = "";            // of kq-broker; empty: no keys
  std::string worker_key = "";            // of kq-worker: a file; empty: none
  std::string devices = "auto";           // of kq-worker
  std::string programs;                   // the folder of kq-broker and kq-worker
  std::int64_t start_limit_ms = 180'000;  // of each; a worker imports torch on a cold disk
};

inline constexpr int kRestartsMax = 5;                 // of both together, in the life of a stack
inline constexpr std::int64_t kWorkerStopMs = 15'000;  // between asking and killing
inline constexpr std::int64_t kBrokerStopMs = 15'000;
inline constexpr std::int64_t kEarlierProcessWaitMs = 20'000;  // for the processes of an earlier stack that was killed

class Stack {
 public:
  // The broker. Returns when it is ready. An Error when it ends or is late, with its last lines, or when `sleep` says
  // to give up.
  static Expected<std::unique_ptr<Stack>> start(const StackPlan& plan, const Sleep& sleep);
  // The worker, once there is work: it takes seconds. Nothing where it was started before. The same Errors; then the
  // broker is stopped too.
  Expected<void> start_worker(const Sleep& sleep);
  ~Stack();  // what still runs is killed

  const std::string& broker_url() const { return url_; }
  const StateFolder& folder() const { return folder_; }

  // Starts again what has ended by itself and says so in a sentence; nothing while both run. An Error once kRestartsMax
  // is used up.
  Expected<std::optional<std::string>> restart_ended();

  // Asks, waits, kills. When `sleep` says to hurry it kills at once.
  void stop(const Sleep& sleep);

 private:
  struct Member {
    std::string name;
    Command command;
    std::optional<Process> process;
  };

  Stack(StateFolder folder, PrivateEndpoint endpoint, const StackPlan& plan);
  Expected<void> start(Member& member, const Sleep& sleep);
  void record();

  StateFolder folder_;
  PrivateEndpoint endpoint_;
  std::string url_;
  std::int64_t start_limit_ms_;
  Member broker_;
  Member worker_;
  int restarts_ = 0;
};

// Folder of the running program: the others stand beside it.
std::string program_folder();

}  // namespace kq::tools
