// A stack: a broker, a worker and perhaps a gateway as child processes, which kq sweep and kq up start. The programs
// kq-broker, kq-worker and kq-gateway lie in the folder of the tool.
//
// A stack holds the lock of its state folder (tools/stack/state_folder.h) as long as it exists. The broker is ready
// before the worker starts; each program reports readiness by a byte on a pipe. restart_ended() restarts a program that
// has ended by itself, at most kRestartsMax times in all: the store keeps every job, and the other programs reconnect.
// The gateway is stopped first, and the worker before the broker, so that the broker gets its leases back. If the
// process of the stack dies, the kernel sends a signal to both programs, and the next process that takes the state
// folder waits until both have ended.
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
  std::string broker_url;                 // URL of the broker; empty for a socket that only this user reaches
  std::string key_folder = "";            // the broker's folder of keys; empty for no keys
  std::string worker_key = "";            // path of the worker's key file; empty for no key
  std::string devices = "auto";           // devices of the worker, as for kq-worker --devices
  std::uint32_t gpus_per_lane = 0;        // as for kq-worker --gpus-per-lane; 0 for its default
  std::uint32_t metrics_port = 0;         // at which the broker serves its metrics on loopback; 0: it serves none
  std::string gateway = "";               // address HOST:PORT of the gateway; empty for no gateway
  std::string gateway_tokens = "";        // path of the gateway's file of tokens; empty for none
  std::string gateway_operators = "";     // path of the file of operators' tokens; empty for none
  std::string gateway_key = "";           // path of the gateway's key file; empty for no key
  std::string gateway_popcorn = "";       // folder of the gateway's problems in GPU MODE's form; empty for none
  std::string programs;                   // folder of the programs
  std::int64_t start_limit_ms = 180'000;  // limit of each start; a worker may import torch from a cold disk
};

inline constexpr int kRestartsMax = 5;                         // restarts of all programs together
inline constexpr std::int64_t kGatewayStopMs = 25'000;         // between SIGTERM and SIGKILL
inline constexpr std::int64_t kWorkerStopMs = 15'000;          // between SIGTERM and SIGKILL
inline constexpr std::int64_t kBrokerStopMs = 15'000;          // between SIGTERM and SIGKILL
inline constexpr std::int64_t kEarlierProcessWaitMs = 20'000;  // for each process of an earlier stack that was killed

// A running broker and, once start_worker() was called, a running worker.
class Stack {
 public:
  // Starts the broker and returns when it is ready. Returns an Error when the broker ends or is not ready in time, with
  // the last lines of its log, or when `sleep` returns true.
  static Expected<std::unique_ptr<Stack>> start(const StackPlan& plan, const Sleep& sleep);
  // Starts the worker, which takes seconds, unless it was started before. Returns the same Errors as start() and then
  // stops the broker too.
  Expected<void> start_worker(const Sleep& sleep);
  // Starts the gateway, if the plan has one. Returns the same Errors and then stops the other programs too.
  Expected<void> start_gateway(const Sleep& sleep);
  ~Stack();  // kills the programs that still run

  const std::string& broker_url() const { return url_; }
  const StateFolder& folder() const { return folder_; }
  // The URL at which the gateway listens; empty where there is none.
  std::string gateway_url() const;
  // The submitters that a process paused which was killed in this folder.
  std::vector<std::string> left_paused() const;
  // Records the submitters that this process has paused, so that the next stack can resume them.
  void record_paused(std::vector<std::string> submitters);

  // Restarts a program that has ended by itself and returns a sentence about it; returns nothing while all run.
  // Returns an Error once kRestartsMax is used up.
  Expected<std::optional<std::string>> restart_ended();

  // Stops the gateway, the worker, then the broker, by SIGTERM. Kills them when they take too long, or once `sleep`
  // returns true.
  void stop(const Sleep& sleep);

 private:
  struct Member {
    std::string name;
    Command command;
    std::optional<Process> process;
    std::string ready_line = {};  // "ready URL", which the program wrote at its first start
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
  Member gateway_;  // without a command where the plan has none
  std::vector<std::string> paused_;
  int restarts_ = 0;
};

// Returns the folder of the running program, in which the other programs of kq lie.
std::string program_folder();

}  // namespace kq::tools
