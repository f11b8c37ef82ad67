#include "tests/sim/network.h"

namespace kq::sim {
namespace {

constexpr std::int64_t kLateMs = 8'000;

}  // namespace

void Network::to_broker(const Peer& from, const std::string& bytes) {
  carry([this, from, bytes] { broker_({from, bytes}); });
}

bool Network::to_peer(const Peer& peer, const std::string& bytes) {
  if (!peers_.contains(peer)) return false;
  carry([this, peer, bytes] {
    const auto place = peers_.find(peer);
    if (place != peers_.end()) place->second(bytes);
  });
  return true;
}

void Network::carry(const std::function<void()>& deliver) {
  if (random_.chance(weather.lost)) return;
  const int copies = random_.chance(weather.repeated) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    const std::int64_t delay_ms =
        random_.chance(weather.late) ? random_.between(0, kLateMs) : random_.between(0, weather.delay_ms);
    timeline_.after(delay_ms, deliver);
  }
}

}  // namespace kq::sim
