// The simulated network between the broker's two sockets and everybody else: it loses, repeats, delays and so reorders
// messages, and it is cut in one direction or in both.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "net/link.h"
#include "tests/sim/nature.h"

namespace kq::sim {

enum class Way { to_broker, from_broker };

// Machines have names without a dot; each connection of one has an address of its own.
std::string address_of(const std::string& machine, std::uint64_t connection);

class Network {
 public:
  static constexpr std::int64_t kLateMsMax = 8'000;

  explicit Network(Nature& nature) : nature_(nature) {}

  using Receive = std::function<void(std::string bytes)>;

  // The broker's end; it takes what arrives while it runs.
  void attach_broker(std::function<void(net::Packet)> receive) { broker_ = std::move(receive); }
  void attach(const net::Peer& peer, Receive receive) { peers_[peer] = std::move(receive); }
  // What is still on the way to `peer` is lost, unless somebody else is there by then; what it sent may still arrive.
  void detach(const net::Peer& peer) { peers_.erase(peer); }

  // Who speaks from this machine; nobody says so where the broker runs without keys.
  void give_key(const std::string& machine, Identity who) { keys_[machine] = std::move(who); }

  // False: not taken. True promises nothing.
  bool to_broker(const net::Peer& from, std::string_view bytes);
  bool to_peer(const net::Peer& peer, std::string_view bytes);

  // Nothing passes between this machine and the broker on that way, for so long.
  void cut(const std::string& machine, Way way, std::int64_t ms);
  void heal() { cut_until_ms_.clear(); }

 private:
  bool is_cut(const net::Peer& peer, Way way) const;
  bool carry(const net::Peer& peer, Way way, const std::function<void()>& deliver);

  Nature& nature_;
  std::function<void(net::Packet)> broker_;
  std::map<net::Peer, Receive> peers_;
  std::map<std::string, Identity, std::less<>> keys_;
  std::map<std::pair<std::string, Way>, std::int64_t, std::less<>> cut_until_ms_;
};

}  // namespace kq::sim
