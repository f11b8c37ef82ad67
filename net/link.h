// The interface to the network. A server identifies its peers by opaque ids; a client has one server. A sent message
// may be lost: the protocol resends what is not answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/identity.h"

namespace kq::net {

// Names one of the broker's two sockets. Workers have a socket of their own, so that results and heartbeats do not wait
// behind a flood of submissions.
enum class Side { client, worker };
constexpr std::array<std::string_view, 2> enum_names(Side) {
  return {"client", "worker"};
}

// Identifies one connection: the socket, and the id that the socket gave to the connection.
struct Peer {
  Side side = Side::client;
  std::string id;

  friend auto operator<=>(const Peer&, const Peer&) = default;
};

// One received message with its sender.
struct Packet {
  Peer peer;
  std::string bytes;
  Identity who = {};         // proven by the sender's key
  std::string address = {};  // of the peer's machine, or its process for ipc; for the log
};

// The broker's end of the network.
class ServerLink {
 public:
  virtual ~ServerLink() = default;
  // Waits at most `timeout_ms` for the first packet, then returns the packets that have arrived, those of workers
  // first, at most `packets_max`.
  virtual Expected<std::vector<Packet>> receive(std::int64_t timeout_ms, std::size_t packets_max) = 0;
  // Sends without blocking. Returns false and drops the packet if the peer is gone or its queue is full; the peer's
  // resend will ask again.
  virtual bool send(const Peer& peer, std::string bytes) = 0;
  // Between hold() and release(), a link may delay the packets of send(), so that it sends the packets of one peer
  // together.
  virtual void hold() {}
  virtual void release() {}
  // Counts a malformed packet against its sender. The link logs the sender with the reason `why` and accepts fewer
  // messages from this sender.
  virtual void count_violation(const Packet& packet, std::string_view why) { (void)packet, (void)why; }
  // Returns log lines about the messages and connections refused since the last call. Their number is bounded, however
  // many were refused.
  virtual std::vector<std::string> take_log_lines() { return {}; }
};

// The connection of a client or a worker to the broker, or to the one of several brokers that serves.
class ClientLink {
 public:
  virtual ~ClientLink() = default;
  // Sends without blocking for long; the link reconnects by itself. Returns false if the message was not accepted and
  // should be sent again later.
  virtual bool send(std::string_view bytes) = 0;
  // Returns the next message, or an empty optional after `timeout_ms`. Returns at once when the connection is refused.
  virtual Expected<std::optional<std::string>> receive(std::int64_t timeout_ms) = 0;
  // Changes whenever a connection was made. Requests that were sent before may be lost, and should be sent again now.
  virtual std::uint64_t connection_count() { return 0; }
  // Makes receive() return an empty optional also while this descriptor is readable.
  virtual void wake_on(int fd) { (void)fd; }
  // Returns why the server refuses the connection, if the reason is known and a retry alone will not help: the keys do
  // not fit, or the peer is not a broker.
  virtual std::optional<std::string> refusal() { return std::nullopt; }
};

}  // namespace kq::net
