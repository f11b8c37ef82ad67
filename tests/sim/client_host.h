// The machine of a client: a program that blocks in the real Client runs here, on a fiber, over a simulated link and
// clock. It is killed and started again.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "producer/client/client.h"
#include "tests/sim/clock.h"
#include "tests/sim/fiber.h"
#include "tests/sim/nature.h"
#include "tests/sim/network.h"

namespace kq::sim {

class ClientHost {
 public:
  // `program` begins again as a new process after each kill, until it returns without having been killed.
  ClientHost(Nature& nature, Network& network, std::string machine, std::function<void(producer::Client&)> program);
  ~ClientHost();

  void start();
  void kill();

  // For the program.
  void sleep(std::int64_t ms);
  bool is_killed() const { return is_killed_; }
  std::int64_t now_ms() const { return clock_.now_ms(); }

  const std::string& machine() const { return machine_; }
  bool is_done() const { return !process_ && is_finished_; }

 private:
  class Link;

  net::Peer peer() const { return {net::Side::client, address_of(machine_, connection_n_)}; }
  void serve();
  void run_on();
  void wait(std::int64_t ms);

  Nature& nature_;
  Network& network_;
  const std::string machine_;
  const std::function<void(producer::Client&)> program_;
  const Clock clock_;

  std::optional<Fiber> process_;
  std::deque<std::string> arrived_;
  std::uint64_t connection_n_ = 0;
  std::uint64_t wake_n_ = 0;  // only the newest planned wake-up happens
  bool is_receiving_ = false;
  bool is_killed_ = false;
  bool is_finished_ = false;
};

}  // namespace kq::sim
