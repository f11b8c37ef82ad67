#include "net/limits/inbound_queue.h"

#include <utility>

namespace kq::net {

bool InboundQueue::put(Packet packet) {
  const std::size_t bytes = packet.bytes.size();
  const auto known = queues_.find(packet.peer.id);
  const bool has_packets = known != queues_.end();
  if (bytes_ >= limits_.bytes_total_max) return false;
  if (has_packets && known->second.packets.size() >= limits_.packets_max) return false;
  if (has_packets && known->second.bytes + bytes > limits_.bytes_max) return false;
  PeerQueues::value_type& queue = has_packets ? *known : *queues_.try_emplace(packet.peer.id).first;
  queue.second.packets.push_back(std::move(packet));
  queue.second.bytes += bytes;
  bytes_ += bytes;
  if (!has_packets) turns_.push_back(&queue);
  return true;
}

std::optional<Packet> InboundQueue::take() {
  if (turns_.empty()) return std::nullopt;
  PeerQueues::value_type* queue = turns_.front();
  turns_.pop_front();
  Packet packet = std::move(queue->second.packets.front());
  queue->second.packets.pop_front();
  queue->second.bytes -= packet.bytes.size();
  bytes_ -= packet.bytes.size();
  if (queue->second.packets.empty()) {
    queues_.erase(queues_.find(queue->first));
  } else {
    turns_.push_back(queue);
  }
  return packet;
}

}  // namespace kq::net
