// What ZeroMQ tells of a socket's connections, through zmq_socket_monitor.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <zmq.hpp>

namespace kq::net {

struct MonitorEvent {
  std::uint16_t event = 0;
  std::int32_t value = 0;
};

// The next one, if one is there. The address that comes with it is our own end and says nothing.
inline std::optional<MonitorEvent> next_event(zmq::socket_t& monitor) {
  zmq::message_t numbers, address;
  if (!monitor.recv(numbers, zmq::recv_flags::dontwait)) return std::nullopt;
  MonitorEvent heard;
  if (numbers.size() == sizeof heard.event + sizeof heard.value) {
    std::memcpy(&heard.event, numbers.data(), sizeof heard.event);
    std::memcpy(&heard.value, static_cast<const char*>(numbers.data()) + sizeof heard.event, sizeof heard.value);
  }
  while (monitor.get(zmq::sockopt::rcvmore)) (void)monitor.recv(address);
  return heard;
}

}  // namespace kq::net
