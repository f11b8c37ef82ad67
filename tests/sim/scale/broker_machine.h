// The machine of the broker in a large world: the real Loop and the real Broker on a simulated link and clock, and on
// any store. Unlike BrokerHost it has no faults but a restart, and it measures the processor time of the broker.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broker/shell/loop.h"
#include "tests/sim/context.h"
#include "tests/sim/fiber.h"
#include "tests/sim/network.h"
#include "tests/sim/scale/counting_store.h"

namespace kq::sim {

// The work of the broker.
struct BrokerWork {
  std::uint64_t message_count = 0;   // messages that it has received
  std::uint64_t turn_count = 0;      // turns of its loop
  std::int64_t cpu_ns = 0;           // with reads, without commits
  std::int64_t longest_turn_ns = 0;  // the most processor time of one turn, without its commit
};

class BrokerMachine final : private net::ServerLink {
 public:
  // Starts the broker. All arguments outlive the machine.
  BrokerMachine(Context& context, Network& network, CountingStore& store, const broker::BrokerOptions& options);
  ~BrokerMachine() override;

  // Ends the process between two turns and starts the next one. Returns the processor time of its recovery.
  std::int64_t restart();

  const BrokerWork& work() const { return work_; }
  // Sets the longest turn back, and returns it.
  std::int64_t take_longest_turn_ns();
  // Why the broker has ended, if it has.
  const std::optional<std::string>& failure() const { return failure_; }

 private:
  Expected<std::vector<net::Packet>> receive(std::int64_t timeout_ms, std::size_t packets_max) override;
  bool send(const net::Peer& peer, std::string bytes) override;

  std::int64_t start();
  void stop();
  void serve();
  void run_on();
  void wake_in(std::int64_t ms);

  Context& context_;
  Network& network_;
  CountingStore& store_;
  const broker::BrokerOptions options_;

  std::optional<broker::Broker> broker_;
  std::optional<Fiber> process_;  // runs the Loop
  std::sig_atomic_t stop_ = 0;
  std::vector<net::Packet> arrived_;
  bool is_turn_open_ = false;      // whether the turn that is under way receives more packets
  std::uint64_t wake_number_ = 0;  // of the newest planned wake-up; older ones are ignored
  BrokerWork work_;
  std::optional<std::string> failure_;
};

}  // namespace kq::sim
