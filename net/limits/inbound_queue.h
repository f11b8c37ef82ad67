// Queues packets between a socket and the broker: one queue per peer, and the queues take turns.
//
// ZeroMQ has queues of its own, but it stops reading a connection whose queue is full, and a peer that then hangs up
// after a PING ends the whole process by an assertion (libzmq 4.3, out_event). Therefore the sockets read everything,
// and this queue has the limits. It drops packets over the limits of their peer, which the other peers do not notice;
// the protocol allows the loss of any packet.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "net/link.h"

namespace kq::net {

// The limits of the queued packets.
struct InboundQueueLimits {
  std::size_t packets_max = 1'024;           // of one peer
  std::size_t bytes_max = 64u << 20;         // of one peer; a single packet may be longer
  std::size_t bytes_total_max = 512u << 20;  // of all peers
};

// A queue of packets for each peer, from which take() removes packets in turn.
class InboundQueue {
 public:
  explicit InboundQueue(const InboundQueueLimits& limits = {}) : limits_(limits) {}

  // Appends a packet. Returns false and drops the packet if its peer, or all peers together, have reached their limits.
  bool put(Packet packet);
  // Removes and returns the oldest packet of the peer whose turn it is, or an empty optional if no packet waits.
  std::optional<Packet> take();
  bool empty() const { return turns_.empty(); }

 private:
  struct PeerQueue {
    std::deque<Packet> packets;
    std::size_t bytes = 0;
  };
  using PeerQueues = std::unordered_map<std::string, PeerQueue>;

  InboundQueueLimits limits_;
  PeerQueues queues_;                          // by peer id; each has at least one packet
  std::deque<PeerQueues::value_type*> turns_;  // each entry of queues_ once, in the order of the turns
  std::size_t bytes_ = 0;
};

}  // namespace kq::net
