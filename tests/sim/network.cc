#include "tests/sim/network.h"

#include <algorithm>

#include "tests/sim/trace.h"

namespace kq::sim {
namespace {

std::string machine_of(const net::Peer& peer) {
  return peer.id.substr(0, peer.id.find('.'));
}

}  // namespace

std::string address_of(const std::string& machine, std::uint64_t connection) {
  return machine + "." + std::to_string(connection);
}

bool Network::to_broker(const net::Peer& from, std::string_view bytes) {
  return carry(from, Direction::to_broker, [this, from, bytes = std::string(bytes)] {
    context_.trace([&] { return from.id + " -> " + text_to_broker(from.side, bytes); });
    const auto key = keys_.find(machine_of(from));
    broker_({.peer = from, .bytes = bytes, .who = key == keys_.end() ? Identity{} : key->second});
  });
}

bool Network::to_peer(const net::Peer& peer, std::string_view bytes) {
  if (!peers_.contains(peer)) return false;
  return carry(peer, Direction::from_broker, [this, peer, bytes = std::string(bytes)] {
    const auto place = peers_.find(peer);
    if (place == peers_.end()) return;
    context_.trace([&] { return peer.id + " <- " + text_from_broker(peer.side, bytes); });
    place->second(bytes);
  });
}

void Network::cut(const std::string& machine, Direction direction, std::int64_t ms) {
  std::int64_t& until_ms = cut_until_ms_[{machine, direction}];
  until_ms = std::max(until_ms, context_.timeline.now_ms() + ms);
}

bool Network::is_cut(const net::Peer& peer, Direction direction) const {
  if (cut_until_ms_.empty()) return false;
  const auto place = cut_until_ms_.find({machine_of(peer), direction});
  return place != cut_until_ms_.end() && context_.timeline.now_ms() < place->second;
}

bool Network::carry(const net::Peer& peer, Direction direction, const std::function<void()>& deliver) {
  if (context_.strikes(Fault::not_taken)) return false;
  if (is_cut(peer, direction)) {
    context_.counts.add(Fault::partitioned);
    return true;
  }
  if (context_.strikes(Fault::lost)) return true;
  const int copies = context_.strikes(Fault::repeated) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    const std::int64_t most_ms = context_.strikes(Fault::late) ? kLateMsMax : context_.rates.delay_ms;
    context_.timeline.after(context_.random.between(0, most_ms), deliver);
  }
  return true;
}

}  // namespace kq::sim
