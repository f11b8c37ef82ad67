// The machine of a client: it runs a program that uses the real Client on a simulated link and clock.
//
// The program blocks while it waits, so it runs on a fiber. A kill makes is_killed() true and resumes the program,
// which must then return; a new process starts after a random time.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "producer/client/client.h"
#include "tests/sim/clock.h"
#include "tests/sim/context.h"
#include "tests/sim/fiber.h"
#include "tests/sim/network.h"

namespace kq::sim {

// Runs a client program, kills it and starts it again.
class ClientHost {
 public:
  // `program` is started again after each kill. The host is done once `program` returns without a kill.
  ClientHost(Context& context, Network& network, std::string machine, std::function<void(producer::Client&)> program);
  ~ClientHost();

  void start();
  void kill();

  // These two are called by the program.
  void sleep(std::int64_t ms);
  bool is_killed() const { return is_killed_; }
  std::int64_t now_ms() const { return clock_.now_ms(); }

  const std::string& machine() const { return machine_; }
  bool is_done() const { return !process_ && is_finished_; }

 private:
  class Link;

  net::Peer peer() const { return {net::Side::client, address_of(machine_, connection_number_)}; }
  void serve();
  void run_on();
  void wait(std::int64_t ms);

  Context& context_;
  Network& network_;
  const std::string machine_;
  const std::function<void(producer::Client&)> program_;
  const Clock clock_;

  std::optional<Fiber> process_;
  std::deque<std::string> arrived_;
  std::uint64_t connection_number_ = 0;
  std::uint64_t wake_number_ = 0;  // of the newest planned wake-up; older ones are ignored
  bool is_receiving_ = false;
  bool is_killed_ = false;
  bool is_finished_ = false;
};

}  // namespace kq::sim
