// The simulated network between the broker's two sockets and everybody else: it loses, repeats, delays and so reorders
// messages.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "net/link.h"
#include "tests/sim/random.h"
#include "tests/sim/timeline.h"

namespace kq::sim {

struct Weather {
  double lost = 0;
  double repeated = 0;
  double late = 0;            // by seconds instead of milliseconds
  std::int64_t delay_ms = 5;  // at most, normally
};

class Network {
 public:
  Network(Timeline& timeline, Random& random) : timeline_(timeline), random_(random) {}

  using Receive = std::function<void(std::string bytes)>;

  // The broker's end; it takes what arrives while it runs.
  void attach_broker(std::function<void(Packet)> receive) { broker_ = std::move(receive); }
  void attach(const Peer& peer, Receive receive) { peers_[peer] = std::move(receive); }
  // What is still on the way to `peer` is lost; what it sent may still arrive.
  void detach(const Peer& peer) { peers_.erase(peer); }

  void to_broker(const Peer& from, const std::string& bytes);
  // False if nobody is there, as with a ROUTER that must route.
  bool to_peer(const Peer& peer, const std::string& bytes);

  Weather weather;

 private:
  void carry(const std::function<void()>& deliver);

  Timeline& timeline_;
  Random& random_;
  std::function<void(Packet)> broker_;
  std::map<Peer, Receive> peers_;
};

}  // namespace kq::sim
