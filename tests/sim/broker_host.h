// The machine of the broker: it runs the real Loop and the real Broker on a simulated disk, link and clock.
//
// The loop runs on a fiber. It gives control back when it waits for packets, and is resumed when packets arrive or its
// timeout is over. After a crash nothing is sent or committed, and the next commit or receive() returns an Error, which
// ends the loop. After a random time the host recovers a new Broker from what was safe on the disk.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "broker/shell/loop.h"
#include "tests/sim/clock.h"
#include "tests/sim/context.h"
#include "tests/sim/disk.h"
#include "tests/sim/fiber.h"
#include "tests/sim/network.h"
#include "tests/sim/oracle.h"
#include "tests/sim/plant.h"

namespace kq::sim {

// Runs the broker process, crashes and freezes it, and starts it again.
class BrokerHost final : private net::ServerLink {
 public:
  BrokerHost(Context& context, Network& network, Oracle& oracle, Saboteur& saboteur,
             const broker::BrokerOptions& options);
  ~BrokerHost() override;

  // Ends the process now, between two turns; a new process starts later.
  void crash();
  // Ends the process after this many more commits and messages, or during the next one.
  void crash_after(std::uint32_t effects) { crash_plan_.crash_after(effects); }
  void freeze(std::int64_t ms);
  void fail_next_commit() { disk_.fail_next_commit(); }
  void fill_disk_for(std::int64_t ms) { disk_.fill_for(ms); }
  void fail_read_after(std::uint32_t reads) { disk_.fail_read_after(reads); }
  void jump_ahead(std::int64_t ms) { clock_.jump(ms); }

  bool is_up() const { return process_.has_value(); }
  const store::Store& disk() const { return disk_.safe(); }
  const Clock& clock() const { return clock_; }
  std::uint64_t turn_count() const { return turn_count_; }

  std::int64_t down_ms_max = 0;  // the longest time from a crash to the next start

 private:
  Expected<std::vector<net::Packet>> receive(std::int64_t timeout_ms, std::size_t packets_max) override;
  bool send(const net::Peer& peer, std::string bytes) override;

  void start();
  void serve();
  void run_on();
  void wake_in(std::int64_t ms);

  Context& context_;
  Network& network_;
  Oracle& oracle_;
  Saboteur& saboteur_;
  const broker::BrokerOptions options_;
  Clock clock_;
  CrashPlan crash_plan_;
  Disk disk_;

  std::optional<broker::Broker> broker_;
  std::optional<Fiber> process_;  // runs the Loop
  std::vector<net::Packet> arrived_;
  bool is_turn_open_ = false;      // whether a turn has received packets and the loop has not waited since
  std::uint64_t wake_number_ = 0;  // of the newest planned wake-up; older ones are ignored
  std::int64_t frozen_until_ms_ = 0;
  std::uint64_t turn_count_ = 0;
};

}  // namespace kq::sim
