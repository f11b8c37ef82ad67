// A worker as the protocol knows it: real messages, invented results. It crashes, freezes, reconnects, drains and comes
// back.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/messages.h"
#include "tests/sim/network.h"

namespace kq::sim {

struct WorkerTraits {
  std::string name;
  std::vector<DeviceInfo> devices;
  std::uint32_t credit = 2;
  std::int64_t run_ms_max = 2'000;
  std::int64_t resend_ms = 400;
};

// A job whose source holds this word ends the worker that runs it.
inline constexpr std::string_view kPoison = "poison";

class ModelWorker {
 public:
  ModelWorker(Timeline& timeline, Random& random, Network& network, WorkerTraits traits);

  void start();                  // a new process
  void crash();                  // with everything it held
  void leave();                  // with a Goodbye
  void reconnect();              // the same process at a new address
  void freeze(std::int64_t ms);  // neither sees nor does anything, then goes on
  bool is_up() const { return is_up_; }

  double error_chance = 0;           // an attempt ends in our own failure
  std::int64_t down_ms_max = 2'000;  // after a poisonous job

 private:
  struct Held {
    Lease lease;
    std::optional<AttemptResult> result;  // one of the two once it has run
    std::optional<AttemptError> error;
    std::int64_t sent_at_ms = 0;
  };

  void connect();
  void receive(const std::string& bytes);
  void take(LeaseBatch batch);
  void finish(const LeaseId& id);
  void tick();
  void send(WorkerRequest request);
  void send_results();
  Result result_of(const Lease& lease);
  // Does the action after that time, unless the process is another one by then; a frozen process does it when it thaws.
  void after(std::int64_t ms, std::function<void()> action);

  Timeline& timeline_;
  Random& random_;
  Network& network_;
  const WorkerTraits traits_;

  bool is_up_ = false;
  std::uint64_t epoch_ = 0;
  std::uint64_t connections_n_ = 0;
  std::uint64_t requests_n_ = 0;
  std::int64_t frozen_until_ms_ = 0;
  bool is_welcome_ = false;
  std::int64_t heartbeat_ms_ = 0;
  std::int64_t next_heartbeat_ms_ = 0;
  std::map<LeaseId, Held> held_;
};

}  // namespace kq::sim
