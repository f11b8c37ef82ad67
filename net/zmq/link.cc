#include "net/zmq/link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <unordered_map>
#include <utility>
#include <zmq.hpp>

#include "core/limits.h"
#include "net/limits/inbound_queue.h"
#include "net/limits/rate_limiter.h"
#include "net/local/link.h"
#include "net/zmq/monitor.h"
#include "net/zmq/zap.h"
#include "sys/clock.h"

namespace kq::net {
namespace {

constexpr int kHeartbeatMs = 2'000;          // a peer whose machine is gone is noticed even without traffic
constexpr int kHeartbeatTimeoutMs = 10'000;  // long enough for a peer that is stopped or swapping
constexpr int kReconnectMs = 50;
constexpr int kReconnectMsMax = 1'000;
constexpr int kLingerMs = 300;      // time for a last message to go out when a socket is closed
constexpr int kSendWaitMs = 50;     // lets the first send of a client wait for its connection
constexpr int kDisconnectsMax = 3;  // handshakes that fail in a row before refusal() reports it

constexpr std::size_t kReceivesPerTurnMax = 1'024;  // messages received from one socket before the other one is served
// Once a batch has so many bytes, receive() leaves the rest for the next call.
constexpr std::size_t kReceiveBytesMax = 16u << 20;

// Replaces localhost by its address: ZeroMQ resolves names for connect() only.
std::string bindable(std::string endpoint) {
  constexpr std::string_view name = "tcp://localhost:";
  if (endpoint.starts_with(name)) endpoint.replace(0, name.size(), "tcp://127.0.0.1:");
  return endpoint;
}

// Returns a message that owns `bytes` and sends them without a copy.
zmq::message_t message_of(std::string bytes) {
  auto owned = std::make_unique<std::string>(std::move(bytes));
  char* const data = owned->data();
  const std::size_t size = owned->size();
  return {data, size, [](void*, void* string) { delete static_cast<std::string*>(string); }, owned.release()};
}

void set_options(zmq::socket_t& socket, std::string_view endpoint) {
  socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(kMessageBytesMax));
  socket.set(zmq::sockopt::linger, kLingerMs);
  socket.set(zmq::sockopt::sndhwm, kLinkMessagesMax);
  // The socket never stops reading; net/limits/inbound_queue.h explains why and has the limits.
  socket.set(zmq::sockopt::rcvhwm, 0);
  socket.set(zmq::sockopt::heartbeat_ivl, kHeartbeatMs);
  socket.set(zmq::sockopt::heartbeat_timeout, kHeartbeatTimeoutMs);
  socket.set(zmq::sockopt::ipv6, endpoint.starts_with("tcp://["));
}

Error described(std::string_view endpoint, const zmq::error_t& error) {
  return Error{ErrorKind::our_fault, std::string(endpoint) + ": " + error.what()};
}

std::string taken_from(const zmq::message_t& frame) {
  return {static_cast<const char*>(frame.data()), frame.size()};
}

// Returns a property of the connection by which this frame came, or an empty text if ZeroMQ has none of that name. The
// text is valid as long as the frame.
std::string_view property(const zmq::message_t& frame, const char* name) {
  const char* value = zmq_msg_gets(const_cast<zmq_msg_t*>(frame.handle()), name);
  return value == nullptr ? std::string_view() : value;
}

class ZmqServerLink final : public ServerLink {
 public:
  explicit ZmqServerLink(const RateLimits& limits) : limiter_(limits) {}

  Expected<void> bind(const Endpoints& endpoints, const ServerOptions& options) {
    KQ_TRY_VALUE(auto keys, read_key_folder(options.key_folder));
    peers_max_ = 2 * options.limits.connections_max;
    farewells_ = options.farewells;
    authenticator_.emplace(context_, clients_, workers_,
                           ZapOptions{.key_folder = options.key_folder,
                                      .connections_max = options.limits.connections_max,
                                      .connections_per_address_max = options.limits.connections_per_address_max},
                           std::move(keys.authorized));
    const int handshake_ms = options.limits.handshake_ms;
    if (auto bound = bind_one(Side::client, endpoints.client, keys.broker, handshake_ms); !bound) return bound;
    return bind_one(Side::worker, endpoints.worker, keys.broker, handshake_ms);
  }

  Expected<std::vector<Packet>> receive(std::int64_t timeout_ms, std::size_t packets_max) override {
    std::vector<Packet> packets;
    try {
      std::array<zmq::pollitem_t, 2> items{
          {{of(Side::worker).handle(), 0, ZMQ_POLLIN, 0}, {of(Side::client).handle(), 0, ZMQ_POLLIN, 0}}};
      const bool is_behind = !queue_of(Side::worker).empty() || !queue_of(Side::client).empty();
      zmq::poll(items, std::chrono::milliseconds(is_behind ? 0 : timeout_ms));
      now_ms_ = sys::monotonic_now_ms();
      authorized_ = authenticator_->authorized();
      // Serves workers first, so that a flood of submissions does not delay results and heartbeats. Workers get at most
      // three quarters of the batch before clients have their turn.
      Batch batch{.packets = packets, .byte_count = 0};
      const std::size_t share = packets_max - packets_max / 4;
      if (is_behind || items[0].revents != 0) take(Side::worker, share, batch);
      const bool has_more = packets.size() >= share;
      if (is_behind || items[1].revents != 0) take(Side::client, packets_max, batch);
      if (has_more) take(Side::worker, packets_max, batch);
    } catch (const zmq::error_t& error) {
      // A signal interrupted poll(). The caller checks its own flags and calls again.
      if (error.num() != EINTR) return failure(described("the broker's sockets", error));
    }
    return packets;
  }

  bool send(const Peer& peer, std::string bytes) override {
    return !is_revoked(peer) && send_now(peer, std::move(bytes));
  }

  void count_violation(const Packet& packet, std::string_view why) override {
    limiter_.count_violation(packet, why, now_ms_);
  }

  std::vector<std::string> take_log_lines() override {
    std::vector<std::string> lines = authenticator_->take_log_lines();
    for (std::string& line : limiter_.take_log_lines(sys::monotonic_now_ms())) lines.push_back(std::move(line));
    return lines;
  }

 private:
  bool send_now(const Peer& peer, std::string bytes) {
    try {
      zmq::socket_t& socket = of(peer.side);
      // With ROUTER_MANDATORY, the first frame fails for a peer that is gone or whose queue is full. After it succeeds,
      // there is room for the second frame.
      if (!socket.send(zmq::buffer(peer.id), zmq::send_flags::sndmore | zmq::send_flags::dontwait)) return false;
      zmq::message_t message = message_of(std::move(bytes));
      return socket.send(message, zmq::send_flags::dontwait).has_value();
    } catch (const zmq::error_t&) {
      return false;  // EHOSTUNREACH: the peer is gone
    }
  }

  zmq::socket_t& of(Side side) { return side == Side::worker ? workers_ : clients_; }
  InboundQueue& queue_of(Side side) { return queues_[static_cast<std::size_t>(side)]; }

  Expected<void> bind_one(Side side, const std::string& endpoint, const KeyPair& own, int handshake_ms) {
    try {
      zmq::socket_t& socket = of(side);
      set_options(socket, endpoint);
      socket.set(zmq::sockopt::router_mandatory, true);
      socket.set(zmq::sockopt::handshake_ivl, handshake_ms);
      socket.set(zmq::sockopt::curve_server, true);
      socket.set(zmq::sockopt::curve_secretkey, own.secret_key);
      socket.set(zmq::sockopt::zap_domain, std::string(to_string(side)));
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

  struct Batch {
    std::vector<Packet>& packets;
    std::size_t byte_count;

    bool has_room(std::size_t packets_max) const {
      return packets.size() < packets_max && byte_count < kReceiveBytesMax;
    }
    void add(Packet packet) {
      byte_count += packet.bytes.size();
      packets.push_back(std::move(packet));
    }
  };

  // Moves queued packets to the batch, then receives packets from the socket. Packets for which the batch has no room
  // are queued.
  void take(Side side, std::size_t packets_max, Batch& batch) {
    InboundQueue& queue = queue_of(side);
    while (!queue.empty() && batch.has_room(packets_max)) batch.add(*queue.take());
    for (std::size_t i = 0; i < kReceivesPerTurnMax; ++i) {
      zmq::message_t id, bytes;
      if (!of(side).recv(id, zmq::recv_flags::dontwait)) return;
      bool whole = id.more() && of(side).recv(bytes, zmq::recv_flags::dontwait) && !bytes.more();
      Packet packet{.peer = {side, taken_from(id)}, .bytes = "", .who = {}, .address = {}};
      packet.address = property(bytes, "Peer-Address");
      // kq sends no messages of any other form; their frames are dropped.
      if (!whole) {
        while (of(side).get(zmq::sockopt::rcvmore)) (void)of(side).recv(bytes, zmq::recv_flags::dontwait);
        limiter_.log("shape", packet, ": a message of several parts", now_ms_);
        continue;
      }
      if (!admits(bytes, packet)) continue;
      packet.bytes = taken_from(bytes);
      if (queue.empty() && batch.has_room(packets_max)) {
        batch.add(std::move(packet));
        continue;
      }
      const Packet sender{.peer = {side, ""}, .bytes = "", .who = packet.who, .address = packet.address};
      if (!queue.put(std::move(packet))) {
        limiter_.log("waiting", sender, " sends faster than it is served; messages over the limit are dropped",
                     now_ms_);
      }
    }
  }

  // Sets the packet's sender. Returns false if its key has been revoked or the sender exceeds its limits.
  bool admits(const zmq::message_t& bytes, Packet& packet) {
    const Identity* who = authorized_->find(property(bytes, "User-Id"));
    if (who == nullptr || !may_use(who->role, packet.peer.side)) {
      limiter_.log("revoked", packet, ": its key has been revoked; its messages are dropped", now_ms_);
      const std::string& farewell = farewells_[static_cast<std::size_t>(packet.peer.side)];
      if (!farewell.empty()) (void)send_now(packet.peer, farewell);
      return false;
    }
    packet.who = *who;
    remember_key(packet.peer, property(bytes, "User-Id"));
    return limiter_.allow(packet, bytes.size(), now_ms_);
  }

  void remember_key(const Peer& peer, std::string_view public_key) {
    auto& keys = keys_of_peers_[static_cast<std::size_t>(peer.side)];
    // Peers that left are forgotten together with the others, which are remembered again at their next message.
    if (keys.size() >= peers_max_) keys.clear();
    std::string& key = keys[peer.id];
    if (key != public_key) key = public_key;
  }

  // Returns whether the key of the peer was taken off the list after its last accepted message. The connection is older
  // than that and still open, but nothing may be sent to it: leases have the sources of others.
  bool is_revoked(const Peer& peer) const {
    if (!authorized_) return false;  // nothing was received yet
    const auto& keys = keys_of_peers_[static_cast<std::size_t>(peer.side)];
    const auto known = keys.find(peer.id);
    if (known == keys.end()) return false;
    const Identity* who = authorized_->find(known->second);
    return who == nullptr || !may_use(who->role, peer.side);
  }

  RateLimiter limiter_;
  std::array<std::unordered_map<std::string, std::string>, 2> keys_of_peers_;  // by Side: public keys by peer id
  std::size_t peers_max_ = 0;
  std::array<std::string, 2> farewells_;  // by Side
  std::array<InboundQueue, 2> queues_;    // indexed by Side
  std::int64_t now_ms_ = 0;               // time of the last receive()
  std::shared_ptr<const Authorized> authorized_;
  zmq::context_t context_;
  zmq::socket_t clients_{context_, zmq::socket_type::router};
  zmq::socket_t workers_{context_, zmq::socket_type::router};
  std::optional<ZapAuthenticator> authenticator_;  // destroyed before the sockets that it watches
};

class ZmqClientLink final : public ClientLink {
 public:
  // With several endpoints, a message goes to one of those that are connected. A broker that is frozen stays connected
  // for some seconds; a message to it is lost, and its repetition goes to the other one.
  Expected<void> connect(const std::vector<std::string>& endpoints, const ClientKey& key) {
    std::string endpoint = endpoints.front();
    try {
      endpoints_ = endpoints;
      set_options(socket_, endpoint);
      // Queues messages for a live connection only. Messages queued for an absent server would reach it late and
      // several times.
      socket_.set(zmq::sockopt::immediate, true);
      socket_.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
      socket_.set(zmq::sockopt::reconnect_ivl_max, kReconnectMsMax);
      socket_.set(zmq::sockopt::sndtimeo, kSendWaitMs);
      socket_.set(zmq::sockopt::curve_serverkey, key.broker_key);
      socket_.set(zmq::sockopt::curve_publickey, key.own.public_key);
      socket_.set(zmq::sockopt::curve_secretkey, key.own.secret_key);
      if (zmq_socket_monitor(socket_.handle(), kMonitor, kMonitored) != 0) throw zmq::error_t();
      monitor_.connect(kMonitor);
      for (const std::string& one : endpoints) {
        endpoint = one;
        socket_.connect(one);
      }
      return {};
    } catch (const zmq::error_t& error) {
      return bad_input(described(endpoint, error).message + "; tcp://HOST:PORT or ipc://PATH of a broker is needed");
    }
  }

  ~ZmqClientLink() override { (void)zmq_socket_monitor(socket_.handle(), nullptr, 0); }

  bool send(std::string_view bytes) override {
    try {
      reconnect_if_due();
      return socket_.send(zmq::buffer(bytes), zmq::send_flags::none).has_value();
    } catch (const zmq::error_t&) {
      return false;  // a signal interrupted the call
    }
  }

  Expected<std::optional<std::string>> receive(std::int64_t timeout_ms) override {
    try {
      reconnect_if_due();
      zmq::message_t bytes;
      // Receives without zmq_poll if a message is already there, because zmq_poll makes about six system calls.
      if (socket_.recv(bytes, zmq::recv_flags::dontwait)) return whole(bytes);
      std::array<zmq::pollitem_t, 3> items{{{socket_.handle(), 0, ZMQ_POLLIN, 0},
                                            {monitor_.handle(), 0, ZMQ_POLLIN, 0},
                                            {nullptr, wake_fd_, ZMQ_POLLIN, 0}}};
      // A refused connection ends the wait; other events of the connection do not.
      const std::int64_t end_ms = sys::monotonic_now_ms() + timeout_ms;
      do {
        const std::int64_t left_ms = std::max<std::int64_t>(end_ms - sys::monotonic_now_ms(), 0);
        zmq::poll(items.data(), wake_fd_ >= 0 ? 3 : 2, std::chrono::milliseconds(left_ms));
        read_monitor();
      } while (items[1].revents != 0 && items[0].revents == 0 && items[2].revents == 0 && !refusal_);
      if (!socket_.recv(bytes, zmq::recv_flags::dontwait)) return std::nullopt;
      return whole(bytes);
    } catch (const zmq::error_t& error) {
      if (error.num() == EINTR) return std::nullopt;
      return failure(described(endpoints_.front(), error));
    }
  }

  void wake_on(int fd) override { wake_fd_ = fd; }

  std::uint64_t connection_count() override {
    read_monitor();
    return connection_count_;
  }

  std::optional<std::string> refusal() override {
    read_monitor();
    return refusal_;
  }

 private:
  static constexpr const char* kMonitor = "inproc://kq.monitor";
  static constexpr int kMonitored = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                    ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;

  // Returns the bytes of a message, or an empty optional for a message of several parts.
  std::optional<std::string> whole(zmq::message_t& bytes) {
    if (!bytes.more()) return taken_from(bytes);
    while (socket_.get(zmq::sockopt::rcvmore)) (void)socket_.recv(bytes, zmq::recv_flags::dontwait);
    return std::nullopt;
  }

  void read_monitor() {
    while (const auto event = next_event(monitor_)) {
      switch (event->event) {
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
          refusal_.reset();
          disconnect_count_ = 0;
          ++connection_count_;
          break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
          refuse("it does not accept this key");
          break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
          refuse(event->value != ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
                     ? "the peer is not a broker, or has other keys than the broker that this key was made for"
                     : "it runs without keys; leave out --key and KQ_KEY, or give it its --keys");
          break;
        default:
          // A single failure may come from a broker that was being stopped.
          if (++disconnect_count_ < kDisconnectsMax) break;
          refusal_ =
              "it disconnects before the handshake is over; either it runs without keys, or this key was made for "
              "another "
              "broker";
          break;
      }
    }
  }

  // Sets the reason and the time of the next attempt. ZeroMQ does not reconnect after such a refusal, but the key may
  // be authorized later.
  void refuse(std::string why) {
    refusal_ = std::move(why);
    reconnect_at_ms_ = sys::monotonic_now_ms() + kReconnectMsMax;
  }
  void reconnect_if_due() {
    if (!reconnect_at_ms_ || sys::monotonic_now_ms() < *reconnect_at_ms_) return;
    reconnect_at_ms_.reset();
    for (const std::string& endpoint : endpoints_) {
      zmq_disconnect(socket_.handle(), endpoint.c_str());  // fails if the connection is already gone
      socket_.connect(endpoint);
    }
  }

  std::vector<std::string> endpoints_;
  int wake_fd_ = -1;
  int disconnect_count_ = 0;
  std::uint64_t connection_count_ = 0;
  std::optional<std::string> refusal_;
  std::optional<std::int64_t> reconnect_at_ms_;
  zmq::context_t context_;
  zmq::socket_t monitor_{context_, zmq::socket_type::pair};
  zmq::socket_t socket_{context_, zmq::socket_type::dealer};
};

template <class Port>
Expected<std::unique_ptr<Port>> opened(const auto& open) {
  try {
    return open();
  } catch (const zmq::error_t& error) {  // the process has no descriptors left for a context or a socket
    return failure(described("ZeroMQ", error));
  }
}

}  // namespace

Expected<std::unique_ptr<ServerLink>> bind_server(const Endpoints& endpoints, const ServerOptions& options) {
  if (!options.key_folder.empty()) {
    return opened<ServerLink>([&]() -> Expected<std::unique_ptr<ServerLink>> {
      auto link = std::make_unique<ZmqServerLink>(options.limits.rates);
      KQ_TRY(link->bind(endpoints, options));
      return link;
    });
  }
  if (is_loopback(endpoints.client)) return bind_local_server(endpoints, options.limits);
  return bad_input(endpoints.client +
                   ": off-loopback needs keys; give the broker a folder of them with --keys DIR, or bind "
                   "127.0.0.1 or ipc://");
}

Expected<std::unique_ptr<ClientLink>> connect_client(const std::string& endpoint, const std::optional<ClientKey>& key) {
  const std::vector<Endpoints> brokers{Endpoints{.client = endpoint, .worker = ""}};
  return connect_brokers(brokers, Side::client, key);
}

Expected<std::unique_ptr<ClientLink>> connect_brokers(const std::vector<Endpoints>& brokers, Side side,
                                                      const std::optional<ClientKey>& key) {
  std::vector<std::string> endpoints;
  for (const Endpoints& broker : brokers) endpoints.push_back(side == Side::client ? broker.client : broker.worker);
  if (!key) return endpoints.size() == 1 ? connect_local_client(endpoints.front()) : connect_local_clients(endpoints);
  return opened<ClientLink>([&]() -> Expected<std::unique_ptr<ClientLink>> {
    auto link = std::make_unique<ZmqClientLink>();
    KQ_TRY(link->connect(endpoints, *key));
    return link;
  });
}

Expected<std::optional<ClientKey>> read_key_for(Side side, const std::string& path) {
  if (path.empty()) return std::nullopt;
  KQ_TRY_VALUE(auto key, read_client_key(path));
  if (key.who.role != Role::standby && may_use(key.who.role, side)) return std::optional<ClientKey>(std::move(key));
  return bad_input("key file " + path + " is of '" + key.who.name + "' with the role " +
                   std::string(to_string(key.who.role)) + "; here a key with the role " +
                   (side == Side::worker ? "work" : "submit or admin") + " is needed");
}

Expected<std::optional<ClientKey>> read_standby_key(const std::string& path) {
  if (path.empty()) return std::nullopt;
  KQ_TRY_VALUE(auto key, read_client_key(path));
  if (key.who.role == Role::standby) return std::optional<ClientKey>(std::move(key));
  return bad_input("key file " + path + " is of '" + key.who.name + "' with the role " +
                   std::string(to_string(key.who.role)) + "; here a key with the role standby is needed");
}

}  // namespace kq::net
