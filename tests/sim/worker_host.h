// The machine of a worker: the real Worker of gpu_worker, with lanes whose builds and runs only take their time and
// come to an invented end. It crashes, freezes, reconnects, drains and comes back as a new process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "tests/sim/clock.h"
#include "tests/sim/nature.h"
#include "tests/sim/network.h"
#include "tests/sim/oracle.h"

namespace kq::sim {

struct WorkerTraits {
  std::string machine;              // no dot
  std::string name;                 // as the broker knows it; several machines may use one
  std::vector<DeviceInfo> devices;  // none: it builds for others
  std::vector<DeviceInfo> builds_for{};
  std::vector<std::string> labels{};
  std::vector<Backend> backends{};
  std::uint32_t build_slots = 1;
  std::uint32_t leases_ahead = 1;
  std::int64_t run_ms_max = 1'500;  // mostly
};

class WorkerHost {
 public:
  WorkerHost(Nature& nature, Network& network, Oracle& oracle, WorkerTraits traits);

  void start();                  // a new process, where there is none
  void crash();                  // with everything it held
  void leave();                  // with a Goodbye, whatever runs
  void drain();                  // finishes what runs, then leaves
  void reconnect();              // the same process at a new address
  void freeze(std::int64_t ms);  // neither sees nor does anything, then goes on
  void thaw() { frozen_until_ms_ = 0; }
  // Where it is gone it comes back by itself within so long.
  void come_back_in(std::int64_t ms_max);

  const std::string& machine() const { return traits_.machine; }

 private:
  class Process;

  net::Peer peer() const { return {net::Side::worker, address_of(traits_.machine, connection_n_)}; }
  void connect();
  // Does the action after that time, unless the process is another one by then; a frozen process does it when it thaws.
  void after(std::int64_t ms, std::function<void()> action);

  Nature& nature_;
  Network& network_;
  Oracle& oracle_;
  const WorkerTraits traits_;
  const Clock clock_;

  std::shared_ptr<Process> process_;  // none while it is gone
  std::uint64_t connection_n_ = 0;
  std::int64_t frozen_until_ms_ = 0;
};

}  // namespace kq::sim
