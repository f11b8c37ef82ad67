#include "net/limits/inbound_queue.h"

#include <utility>

namespace kq::net {

bool Waiting::put(Packet packet) {
  const std::size_t bytes = packet.bytes.size();
  const auto known = lines_.find(packet.peer.id);
  const bool has_some = known != lines_.end();
  if (bytes_ >= limits_.bytes_total_max) return false;
  if (has_some && known->second.packets.size() >= limits_.packets_max) return false;
  if (has_some && known->second.bytes + bytes > limits_.bytes_max) return false;
  Lines::value_type& line = has_some ? *known : *lines_.try_emplace(packet.peer.id).first;
  line.second.packets.push_back(std::move(packet));
  line.second.bytes += bytes;
  bytes_ += bytes;
  if (!has_some) turns_.push_back(&line);
  return true;
}

std::optional<Packet> Waiting::take() {
  if (turns_.empty()) return std::nullopt;
  Lines::value_type* line = turns_.front();
  turns_.pop_front();
  Packet packet = std::move(line->second.packets.front());
  line->second.packets.pop_front();
  line->second.bytes -= packet.bytes.size();
  bytes_ -= packet.bytes.size();
  if (line->second.packets.empty()) {
    lines_.erase(lines_.find(line->first));
  } else {
    turns_.push_back(line);
  }
  return packet;
}

}  // namespace kq::net
