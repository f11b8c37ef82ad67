// Reads the events of a ZeroMQ socket's connections from its zmq_socket_monitor.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <zmq.hpp>

namespace kq::net {

// One event of a monitor: a ZMQ_EVENT_ number, and the value that ZeroMQ defines for that event.
struct MonitorEvent {
  std::uint16_t event = 0;
  std::int32_t value = 0;
};

// Returns the next event, or an empty optional if there is none. Drops the address frame, which names only this end of
// the connection.
inline std::optional<MonitorEvent> next_event(zmq::socket_t& monitor) {
  zmq::message_t numbers, address;
  if (!monitor.recv(numbers, zmq::recv_flags::dontwait)) return std::nullopt;
  MonitorEvent received;
  if (numbers.size() == sizeof received.event + sizeof received.value) {
    std::memcpy(&received.event, numbers.data(), sizeof received.event);
    std::memcpy(&received.value, static_cast<const char*>(numbers.data()) + sizeof received.event,
                sizeof received.value);
  }
  while (monitor.get(zmq::sockopt::rcvmore)) (void)monitor.recv(address);
  return received;
}

}  // namespace kq::net
