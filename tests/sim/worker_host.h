// The machine of a worker: it runs the real Worker core of gpu_worker with simulated lanes. A build or a run takes a
// random time and has an invented result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "tests/sim/clock.h"
#include "tests/sim/context.h"
#include "tests/sim/network.h"
#include "tests/sim/oracle.h"

namespace kq::sim {

// The properties of one worker.
struct WorkerTraits {
  std::string machine;              // a name without a dot
  std::string name;                 // the worker's name for the broker; several machines may have the same
  std::vector<DeviceInfo> devices;  // empty for a worker that only builds
  std::vector<DeviceInfo> builds_for{};
  std::vector<std::string> labels{};
  std::vector<Backend> backends{};
  std::uint32_t build_slots = 1;
  std::uint32_t leases_ahead = 1;
  std::int64_t run_ms_max = 1'500;  // the longest run, except for rare long ones
};

// Starts, crashes, freezes, drains and reconnects the worker process.
class WorkerHost {
 public:
  WorkerHost(Context& context, Network& network, Oracle& oracle, WorkerTraits traits);

  void start();                  // starts a new process if none runs
  void crash();                  // ends the process without a message
  void leave();                  // ends the process with a Goodbye, even if jobs run
  void drain();                  // lets the process finish its jobs and leave
  void reconnect();              // gives the process a new address
  void freeze(std::int64_t ms);  // stops the process for this time
  void thaw() { frozen_until_ms_ = 0; }
  // Starts a process after a random time of at most `ms_max` if none runs by then.
  void come_back_in(std::int64_t ms_max);

  const std::string& machine() const { return traits_.machine; }

 private:
  class Process;

  net::Peer peer() const { return {net::Side::worker, address_of(traits_.machine, connection_number_)}; }
  void connect();
  // Runs the action after that time if the process is still the same one. A frozen process runs it when it continues.
  void after(std::int64_t ms, std::function<void()> action);

  Context& context_;
  Network& network_;
  Oracle& oracle_;
  const WorkerTraits traits_;
  const Clock clock_;

  std::shared_ptr<Process> process_;  // null while no process runs
  std::uint64_t connection_number_ = 0;
  std::int64_t frozen_until_ms_ = 0;
};

}  // namespace kq::sim
