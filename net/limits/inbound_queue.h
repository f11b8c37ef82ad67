// Packets that have been taken from a socket and not yet by the broker: a line for each peer, served in turn.
//
// ZeroMQ has such lines of its own, but one that is full stops reading its connection, and a peer that then hangs up
// after a PING ends the whole process by an assertion (libzmq 4.3, out_event). So the sockets take everything, and the
// limits are here. What is over them is dropped, as anything on a network may be; the others do not notice.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "net/link.h"

namespace kq::net {

struct WaitingLimits {
  std::size_t packets_max = 1'024;           // of one peer
  std::size_t bytes_max = 64u << 20;         // of one peer; its first packet may be longer
  std::size_t bytes_total_max = 512u << 20;  // of all peers
};

class Waiting {
 public:
  explicit Waiting(const WaitingLimits& limits = {}) : limits_(limits) {}

  // False: its peer, or all together, have as much waiting as they may; it is dropped.
  bool put(Packet packet);
  // The next peer's oldest packet.
  std::optional<Packet> take();
  bool empty() const { return turns_.empty(); }

 private:
  struct Line {
    std::deque<Packet> packets;
    std::size_t bytes = 0;
  };
  using Lines = std::unordered_map<std::string, Line>;

  WaitingLimits limits_;
  Lines lines_;                           // by peer; none is empty
  std::deque<Lines::value_type*> turns_;  // each of them once
  std::size_t bytes_ = 0;
};

}  // namespace kq::net
