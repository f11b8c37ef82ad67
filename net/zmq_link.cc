#include "net/zmq_link.h"

#include <arpa/inet.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <zmq.hpp>

#include "core/limits.h"

namespace kq {
namespace {

constexpr int kHeartbeatMs = 2'000;          // a peer whose machine vanished is noticed without traffic of ours
constexpr int kHeartbeatTimeoutMs = 10'000;  // long enough for a stopped or swapping peer
constexpr int kReconnectMs = 50;
constexpr int kReconnectMsMax = 1'000;
constexpr int kLingerMs = 300;   // a goodbye or a last reply may still go out; nobody waits longer for it
constexpr int kSendWaitMs = 50;  // lets the very first send of a client meet its connection

constexpr std::string_view kTcp = "tcp://";

// 127.0.0.0/8, [::1] and localhost. Interface names and wildcards are not known to be local.
bool is_loopback(std::string_view endpoint) {
  if (!endpoint.starts_with(kTcp)) return true;
  endpoint.remove_prefix(kTcp.size());
  const std::string host(endpoint.substr(0, endpoint.rfind(':')));
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1) return (ntohl(address.s_addr) >> 24) == 127;
  return host == "[::1]" || host == "localhost";
}

// bind() takes addresses only: ZeroMQ looks names up for connect() alone.
std::string bindable(std::string endpoint) {
  constexpr std::string_view name = "tcp://localhost:";
  if (endpoint.starts_with(name)) endpoint.replace(0, name.size(), "tcp://127.0.0.1:");
  return endpoint;
}

void set_options(zmq::socket_t& socket, std::string_view endpoint) {
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMessageBytesMax));
  socket.set(zmq::sockopt::linger, kLingerMs);
  socket.set(zmq::sockopt::sndhwm, kLinkMessagesMax);
  socket.set(zmq::sockopt::rcvhwm, kLinkMessagesMax);
  socket.set(zmq::sockopt::heartbeat_ivl, kHeartbeatMs);
  socket.set(zmq::sockopt::heartbeat_timeout, kHeartbeatTimeoutMs);
  socket.set(zmq::sockopt::ipv6, endpoint.starts_with("tcp://["));
}

Error described(std::string_view endpoint, const zmq::error_t& error) {
  return Error{ExitCode::our_fault, std::string(endpoint) + ": " + error.what()};
}

std::string taken_from(const zmq::message_t& frame) {
  return {static_cast<const char*>(frame.data()), frame.size()};
}

class ZmqServerLink final : public ServerLink {
 public:
  Expected<void> bind(const Endpoints& endpoints) {
    if (auto bound = bind_one(Side::client, endpoints.client); !bound) return bound;
    return bind_one(Side::worker, endpoints.worker);
  }

  Expected<std::vector<Packet>> receive(std::int64_t timeout_ms, std::size_t packets_max) override {
    std::vector<Packet> packets;
    try {
      std::array<zmq::pollitem_t, 2> items{
          {{of(Side::worker).handle(), 0, ZMQ_POLLIN, 0}, {of(Side::client).handle(), 0, ZMQ_POLLIN, 0}}};
      zmq::poll(items, std::chrono::milliseconds(timeout_ms));
      // Workers first: a flood of submissions must not age the results and heartbeats behind it.
      drain(Side::worker, packets_max, packets);
      drain(Side::client, packets_max, packets);
    } catch (const zmq::error_t& error) {
      // A signal came: the caller looks at its own flags and comes back.
      if (error.num() != EINTR) return failure(described("the broker's sockets", error));
    }
    return packets;
  }

  bool send(const Peer& peer, std::string_view bytes) override {
    try {
      zmq::socket_t& socket = of(peer.side);
      // ROUTER_MANDATORY answers here for a peer that is gone or whose pipe is full; the second frame then has its
      // place.
      if (!socket.send(zmq::buffer(peer.id), zmq::send_flags::sndmore | zmq::send_flags::dontwait)) return false;
      return socket.send(zmq::buffer(bytes), zmq::send_flags::dontwait).has_value();
    } catch (const zmq::error_t&) {
      return false;  // EHOSTUNREACH: the peer is gone
    }
  }

 private:
  zmq::socket_t& of(Side side) { return side == Side::worker ? workers_ : clients_; }

  Expected<void> bind_one(Side side, const std::string& endpoint) {
    if (!is_loopback(endpoint)) {
      return bad_input(endpoint +
                       ": off-loopback needs keys, which this version does not have; bind 127.0.0.1 or ipc://");
    }
    try {
      zmq::socket_t& socket = of(side);
      set_options(socket, endpoint);
      socket.set(zmq::sockopt::router_mandatory, true);
      socket.bind(bindable(endpoint));
      return {};
    } catch (const zmq::error_t& error) {
      const auto refuse = [&](std::string_view hint) {
        return our_fault(described(endpoint, error).message + "; " + std::string(hint));
      };
      if (error.num() == EADDRINUSE) return refuse("another program listens there, choose another port");
      if (error.num() == ENOENT) return refuse("its directory must exist");
      return refuse("the broker cannot listen there");
    }
  }

  void drain(Side side, std::size_t packets_max, std::vector<Packet>& packets) {
    while (packets.size() < packets_max) {
      zmq::message_t id, bytes;
      if (!of(side).recv(id, zmq::recv_flags::dontwait)) return;
      bool whole = id.more() && of(side).recv(bytes, zmq::recv_flags::dontwait) && !bytes.more();
      // A message of any other shape is not ours: its frames are thrown away one by one.
      if (!whole) {
        while (of(side).get(zmq::sockopt::rcvmore)) (void)of(side).recv(bytes, zmq::recv_flags::dontwait);
        continue;
      }
      packets.push_back({Peer{side, taken_from(id)}, taken_from(bytes)});
    }
  }

  zmq::context_t context_;
  zmq::socket_t clients_{context_, zmq::socket_type::router};
  zmq::socket_t workers_{context_, zmq::socket_type::router};
};

class ZmqClientLink final : public ClientLink {
 public:
  Expected<void> connect(const std::string& endpoint) {
    try {
      endpoint_ = endpoint;
      set_options(socket_, endpoint);
      // Queue for a live connection only: what waits for an absent server would reach it stale and many times over.
      socket_.set(zmq::sockopt::immediate, true);
      socket_.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
      socket_.set(zmq::sockopt::reconnect_ivl_max, kReconnectMsMax);
      socket_.set(zmq::sockopt::sndtimeo, kSendWaitMs);
      socket_.connect(endpoint);
      return {};
    } catch (const zmq::error_t& error) {
      return bad_input(described(endpoint, error).message + "; tcp://HOST:PORT or ipc://PATH of a broker is needed");
    }
  }

  bool send(std::string_view bytes) override {
    try {
      return socket_.send(zmq::buffer(bytes), zmq::send_flags::none).has_value();
    } catch (const zmq::error_t&) {
      return false;  // a signal came
    }
  }

  Expected<std::optional<std::string>> receive(std::int64_t timeout_ms) override {
    try {
      std::array<zmq::pollitem_t, 2> items{{{socket_.handle(), 0, ZMQ_POLLIN, 0}, {nullptr, wake_fd_, ZMQ_POLLIN, 0}}};
      zmq::poll(items.data(), wake_fd_ >= 0 ? 2 : 1, std::chrono::milliseconds(timeout_ms));
      zmq::message_t bytes;
      if (!socket_.recv(bytes, zmq::recv_flags::dontwait)) return std::nullopt;
      if (!bytes.more()) return taken_from(bytes);
      while (socket_.get(zmq::sockopt::rcvmore)) (void)socket_.recv(bytes, zmq::recv_flags::dontwait);
      return std::nullopt;
    } catch (const zmq::error_t& error) {
      if (error.num() == EINTR) return std::nullopt;
      return failure(described(endpoint_, error));
    }
  }

  void wake_on(int fd) override { wake_fd_ = fd; }

 private:
  std::string endpoint_;
  int wake_fd_ = -1;
  zmq::context_t context_;
  zmq::socket_t socket_{context_, zmq::socket_type::dealer};
};

template <class Link, class Port>
Expected<std::unique_ptr<Port>> opened(const auto& open) {
  try {
    auto link = std::make_unique<Link>();
    if (auto done = open(*link); !done) return failure(done.error());
    return std::unique_ptr<Port>(std::move(link));
  } catch (const zmq::error_t& error) {  // no context or socket: out of descriptors
    return failure(described("ZeroMQ", error));
  }
}

}  // namespace

Expected<std::unique_ptr<ServerLink>> bind_server(const Endpoints& endpoints) {
  return opened<ZmqServerLink, ServerLink>([&](ZmqServerLink& link) { return link.bind(endpoints); });
}

Expected<std::unique_ptr<ClientLink>> connect_client(const std::string& endpoint) {
  return opened<ZmqClientLink, ClientLink>([&](ZmqClientLink& link) { return link.connect(endpoint); });
}

}  // namespace kq
