// The machine of the broker: the real Loop and the real Broker over a simulated disk, link and clock. It crashes and
// comes back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "broker/loop.h"
#include "tests/sim/disk.h"
#include "tests/sim/network.h"
#include "tests/sim/oracle.h"
#include "tests/sim/plant.h"

namespace kq::sim {

class BrokerHost final : private ServerLink {
 public:
  BrokerHost(Timeline& timeline, Random& random, Network& network, Oracle& oracle, const BrokerOptions& options,
             Plant plant);

  // The process ends: now, or at its next commit.
  void crash();
  void crash_at(CrashPoint point) { disk_.crash_at(point); }
  // The machine's clock jumps ahead of everybody else's.
  void jump(std::int64_t ms) { ahead_ms_ += ms; }

  bool is_up() const { return loop_.has_value(); }
  const Store& disk() const { return disk_.safe(); }

  std::int64_t down_ms_max = 0;  // a crashed broker is started again after at most this long

 private:
  Expected<std::vector<Packet>> receive(std::int64_t timeout_ms, std::size_t packets_max) override;
  bool send(const Peer& peer, std::string_view bytes) override;

  void start();
  void turn();
  void wake_in(std::int64_t ms);
  std::string without_fencing(std::string bytes) const;

  Timeline& timeline_;
  Random& random_;
  Network& network_;
  Oracle& oracle_;
  const BrokerOptions options_;
  const Plant plant_;
  Disk disk_;
  std::int64_t ahead_ms_ = 0;

  std::optional<Broker> broker_;
  std::optional<Loop> loop_;
  std::vector<Packet> arrived_;
  std::uint64_t wake_n_ = 0;  // only the newest planned turn happens
  std::int64_t last_timeout_ms_ = 0;
};

}  // namespace kq::sim
