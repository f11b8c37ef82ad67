// The simulated network between the broker's two sockets and the workers and clients. It loses, repeats and delays
// messages, so that they are also reordered, and it can be cut in one direction or in both.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "net/link.h"
#include "tests/sim/context.h"

namespace kq::sim {

enum class Direction { to_broker, from_broker };

// Returns the address of a connection. Each connection of a machine has another address; names of machines have no dot.
std::string address_of(const std::string& machine, std::uint64_t connection);

// Delivers the messages of one world after a random delay, or not at all.
class Network {
 public:
  static constexpr std::int64_t kLateMsMax = 8'000;

  explicit Network(Context& context) : context_(context) {}

  using Receive = std::function<void(std::string bytes)>;

  // Sets the function that gets each packet for the broker.
  void attach_broker(std::function<void(net::Packet)> receive) { broker_ = std::move(receive); }
  // Sets the function that gets each message for `peer`.
  void attach(const net::Peer& peer, Receive receive) { peers_[peer] = std::move(receive); }
  // Messages on their direction to `peer` are lost, unless another process is attached with that address when they
  // arrive. Messages that `peer` has sent may still arrive.
  void detach(const net::Peer& peer) { peers_.erase(peer); }

  // Sets the identity of the packets of this machine. Without a call the broker runs as if without keys.
  void give_key(const std::string& machine, Identity who) { keys_[machine] = std::move(who); }

  // These return false if the message is refused. True does not mean that the message will arrive.
  bool to_broker(const net::Peer& from, std::string_view bytes);
  bool to_peer(const net::Peer& peer, std::string_view bytes);

  // Loses all messages between the machine and the broker in that direction for `ms` milliseconds.
  void cut(const std::string& machine, Direction direction, std::int64_t ms);
  void heal() { cut_until_ms_.clear(); }

 private:
  bool is_cut(const net::Peer& peer, Direction direction) const;
  bool carry(const net::Peer& peer, Direction direction, const std::function<void()>& deliver);

  Context& context_;
  std::function<void(net::Packet)> broker_;
  std::map<net::Peer, Receive> peers_;
  std::map<std::string, Identity, std::less<>> keys_;
  std::map<std::pair<std::string, Direction>, std::int64_t, std::less<>> cut_until_ms_;
};

}  // namespace kq::sim
