// The port to the network. A server sees peers by an opaque identity; a client sees one server. Sending is a hint,
// never a promise.
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

// Which of the broker's two sockets: workers have their own, so that results and heartbeats never wait behind a flood
// of submits.
enum class Side { client, worker };
constexpr std::array<std::string_view, 2> enum_names(Side) {
  return {"client", "worker"};
}

struct Peer {
  Side side = Side::client;
  std::string id;

  friend auto operator<=>(const Peer&, const Peer&) = default;
};

struct Packet {
  Peer peer;
  std::string bytes;
  Identity who = {};         // as proven by its key
  std::string address = {};  // of its machine, or its process for ipc; for the log
};

class ServerLink {
 public:
  virtual ~ServerLink() = default;
  // Waits at most `timeout_ms` for a first packet, then takes what has arrived, workers first, up to `packets_max`.
  virtual Expected<std::vector<Packet>> receive(std::int64_t timeout_ms, std::size_t packets_max) = 0;
  // Never blocks. False when the peer is gone or its pipe is full: the packet is dropped, resends will ask again.
  virtual bool send(const Peer& peer, std::string bytes) = 0;
  // What is sent between these two may wait for the second: what goes to one peer then goes at once.
  virtual void hold() {}
  virtual void release() {}
  // What came with this packet means nothing, for the reason given: its sender is noted, and may send less.
  virtual void blame(const Packet& packet, std::string_view why) { (void)packet, (void)why; }
  // What was refused since the last call, a few lines for the log however much it was.
  virtual std::vector<std::string> take_notes() { return {}; }
};

class ClientLink {
 public:
  virtual ~ClientLink() = default;
  // Never blocks for long; the link reconnects by itself. False: not accepted now, try again later.
  virtual bool send(std::string_view bytes) = 0;
  // The next message, or nothing within `timeout_ms`; at once when the connection is refused.
  virtual Expected<std::optional<std::string>> receive(std::int64_t timeout_ms) = 0;
  // receive() also returns, with nothing, while this descriptor is readable.
  virtual void wake_on(int fd) { (void)fd; }
  // Why there is no connection, where it is known and trying again alone will not help: keys, or not a broker at all.
  virtual std::optional<std::string> refusal() { return std::nullopt; }
};

}  // namespace kq::net
