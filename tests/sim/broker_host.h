// The machine of the broker: the real Loop and the real Broker over a simulated disk, link and clock. It crashes,
// freezes and comes back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "broker/shell/loop.h"
#include "tests/sim/clock.h"
#include "tests/sim/disk.h"
#include "tests/sim/fiber.h"
#include "tests/sim/nature.h"
#include "tests/sim/network.h"
#include "tests/sim/oracle.h"
#include "tests/sim/plant.h"

namespace kq::sim {

class BrokerHost final : private net::ServerLink {
 public:
  BrokerHost(Nature& nature, Network& network, Oracle& oracle, Saboteur& saboteur,
             const broker::BrokerOptions& options);
  ~BrokerHost() override;

  // The process ends now, between two turns, and is started again.
  void crash();
  // It ends after so many more commits and messages, or in the middle of the next one.
  void crash_after(std::uint32_t effects) { life_.cut_after(effects); }
  void freeze(std::int64_t ms);
  void fail_next_commit() { disk_.fail_next_commit(); }
  void fill_disk_for(std::int64_t ms) { disk_.fill_for(ms); }
  void fail_read_after(std::uint32_t reads) { disk_.fail_read_after(reads); }
  void jump_ahead(std::int64_t ms) { clock_.jump(ms); }

  bool is_up() const { return process_.has_value(); }
  const store::Store& disk() const { return disk_.safe(); }
  const Clock& clock() const { return clock_; }
  std::uint64_t turns_n() const { return turns_n_; }

  std::int64_t down_ms_max = 0;  // a crashed broker is started again after at most this long

 private:
  Expected<std::vector<net::Packet>> receive(std::int64_t timeout_ms, std::size_t packets_max) override;
  bool send(const net::Peer& peer, std::string bytes) override;

  void start();
  void serve();
  void run_on();
  void wake_in(std::int64_t ms);

  Nature& nature_;
  Network& network_;
  Oracle& oracle_;
  Saboteur& saboteur_;
  const broker::BrokerOptions options_;
  Clock clock_;
  Lifeline life_;
  Disk disk_;

  std::optional<broker::Broker> broker_;
  std::optional<Fiber> process_;  // that runs the Loop
  std::vector<net::Packet> arrived_;
  bool is_turn_open_ = false;  // between the packets of a turn and the wait for the next
  std::uint64_t wake_n_ = 0;   // only the newest planned wake-up happens
  std::int64_t frozen_until_ms_ = 0;
  std::uint64_t turns_n_ = 0;
};

}  // namespace kq::sim
