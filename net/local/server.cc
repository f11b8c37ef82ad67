// The server end of the transport for one machine, without keys (net/local/link.h).
//
// Theory of operation. One thread, the caller of receive(), does all work. An epoll set holds the listening sockets and
// all connections. receive() waits for events, accepts connections and reads from readable ones, then takes one message
// of each readable connection in turn, workers first. A connection whose messages are not yet taken is not read
// further, so a fast peer fills only its own socket buffer. Connections without a handshake, or with an incomplete
// message, are closed at their deadlines.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/limits/rate_limiter.h"
#include "net/local/address.h"
#include "net/local/connection.h"
#include "net/local/link.h"
#include "sys/clock.h"
#include "sys/error_text.h"

namespace kq::net {
namespace {

constexpr std::size_t kEventsAtOnce = 256;
constexpr std::size_t kReceivesPerTurnMax = 1'024;  // messages taken from one side before the other side is served
// Once a batch has so many bytes, receive() leaves the remaining messages for the next call.
constexpr std::size_t kReceiveBytesMax = 16u << 20;
// Time until connections are accepted again after the system had no resources; also how late a deadline may be noticed.
constexpr std::int64_t kRetryMs = 100;

// Identifies a socket in an epoll event. Numbers below kListeners are listening sockets: one for each side, then the
// abstract socket of each side. Larger numbers are connections.
using Number = std::uint64_t;
constexpr std::size_t kSides = 2, kListeners = 2 * kSides;
constexpr Number kFirstNumber = kListeners;

Side side_of(std::size_t listener) {
  return static_cast<Side>(listener % kSides);
}

std::string id_of(Number number) {
  std::string id(sizeof number, '\0');
  std::memcpy(id.data(), &number, sizeof number);
  return id;
}

Number number_in(const std::string& id) {
  Number number = 0;
  if (id.size() == sizeof number) std::memcpy(&number, id.data(), sizeof number);
  return number;
}

class LocalServerLink final : public ServerLink {
 public:
  explicit LocalServerLink(const ServerLimits& limits)
      : limits_(limits), limiter_(limits.rates), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  ~LocalServerLink() override {
    for (const int fd : listeners_) {
      if (fd >= 0) ::close(fd);
    }
    for (const std::string& path : paths_) ::unlink(path.c_str());
    if (epoll_ >= 0) ::close(epoll_);
  }

  Expected<void> bind(const Endpoints& endpoints) {
    if (epoll_ < 0) return our_fault(sys::error_text("the broker's sockets"));
    if (auto bound = bind_one(0, endpoints.client); !bound) return bound;
    return bind_one(1, endpoints.worker);
  }

  Expected<std::vector<Packet>> receive(std::int64_t timeout_ms, std::size_t packets_max) override {
    Batch batch;
    for (const std::int64_t end_ms = timeout_ms + (timeout_ms == 0 ? 0 : sys::monotonic_now_ms());;) {
      const bool has_left_time = !is_behind() && end_ms != 0;
      const bool was_waiting_complete =
          wait_for_events(has_left_time ? std::max<std::int64_t>(end_ms - sys::monotonic_now_ms(), 0) : 0);
      // Serves workers first, so that a flood of submissions does not delay results and heartbeats. Workers get at most
      // three quarters of the batch before clients have their turn.
      const std::size_t share = packets_max - packets_max / 4;
      take(Side::worker, share, batch);
      const bool has_more = batch.packets.size() >= share;
      take(Side::client, packets_max, batch);
      if (has_more) take(Side::worker, packets_max, batch);
      const bool is_done = !batch.packets.empty() || (packets_max == 0 && is_behind());
      if (is_done || !was_waiting_complete || now_ms_ >= end_ms) return std::move(batch.packets);
    }
  }

  bool send(const Peer& peer, std::string bytes) override {
    const auto place = peers_.find(number_in(peer.id));
    if (place == peers_.end() || place->second.side != peer.side) return false;
    PeerConnection& to = place->second;
    if (is_holding_) {
      if (!to.connection->send_later(std::move(bytes))) return false;
      if (!std::exchange(to.is_held, true)) held_.push_back(place->first);
      return true;
    }
    const bool sent = to.connection->send(bytes);
    watch_writable(place->first, to);
    return sent;
  }

  void hold() override { is_holding_ = true; }

  void release() override {
    is_holding_ = false;
    for (const Number number : std::exchange(held_, {})) {
      PeerConnection& to = peers_.at(number);  // no connection is removed between hold() and release()
      to.is_held = false;
      (void)to.connection->flush();  // a lost connection is removed when it is read
      watch_writable(number, to);
    }
  }

  void count_violation(const Packet& packet, std::string_view why) override {
    limiter_.count_violation(packet, why, now_ms_);
  }
  std::vector<std::string> take_log_lines() override { return limiter_.take_log_lines(sys::monotonic_now_ms()); }

 private:
  struct PeerConnection {
    std::unique_ptr<ZmtpConnection> connection;
    Side side = Side::client;
    PeerName name{};
    bool is_readable = false;              // listed in readable_: it may have messages
    bool waits_to_send = false;            // epoll reports when the socket is writable
    bool is_held = false;                  // listed in held_
    std::size_t incomplete_bytes = 0;      // of an incomplete message; if not 0, listed in incomplete_
    std::int64_t incomplete_since_ms = 0;  // when the first bytes of the incomplete message were noticed
  };
  struct Batch {
    std::vector<Packet> packets{};
    std::size_t byte_count = 0;

    bool has_room(std::size_t packets_max) const {
      return packets.size() < packets_max && byte_count < kReceiveBytesMax;
    }
  };

  // Whether connections may have messages that receive() has not taken.
  bool is_behind() const { return !readable_[0].empty() || !readable_[1].empty(); }
  std::deque<Number>& readable_of(Side side) { return readable_[static_cast<std::size_t>(side)]; }

  Expected<void> bind_one(std::size_t listener, const std::string& endpoint) {
    KQ_TRY_VALUE(const auto address, socket_address(endpoint));
    const std::string path = ipc_file_path(endpoint);
    if (!path.empty()) ::unlink(path.c_str());
    if (!listen_at(listener, address) || !add_abstract_listener(listener, address, endpoint)) {
      const char* const hint = errno == EADDRINUSE ? "another program listens there, choose another port"
                               : errno == ENOENT   ? "its directory must exist"
                                                   : "the broker cannot listen there";
      return our_fault(endpoint + ": " + sys::error_text(errno) + "; " + hint);
    }
    if (!path.empty()) paths_.push_back(path);
    return {};
  }

  // Listens on the abstract socket of a loopback address. A client that cannot use the abstract socket, or does not
  // trust its listener, connects by TCP; so if another user's program has bound the name, only speed is lost. Clients
  // would trust a program of the broker's own user, so this returns false with EADDRINUSE if such a program has bound
  // it.
  bool add_abstract_listener(std::size_t listener, const SocketAddress& address, const std::string& endpoint) {
    const auto abstract = abstract_address_of(address);
    accounts_[listener] = address.storage.ss_family == AF_INET6 ? "::1" : "127.0.0.1";
    if (!abstract || listen_at(listener + kSides, *abstract)) return true;
    if (is_listener_trusted(*abstract)) {
      errno = EADDRINUSE;
      return false;
    }
    limiter_.log(
        "abstract socket",
        endpoint + ": another user's program has bound its abstract socket; programs of this machine connect by TCP",
        sys::monotonic_now_ms());
    return true;
  }

  bool listen_at(std::size_t listener, const SocketAddress& address) {
    const int fd = ::socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    if (fd >= 0) (void)::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || ::bind(fd, address.get(), address.bytes) != 0 || ::listen(fd, SOMAXCONN) != 0) {
      const int why = errno;
      if (fd >= 0) ::close(fd);
      errno = why;
      return false;
    }
    listeners_[listener] = fd;
    epoll_control(EPOLL_CTL_ADD, fd, listener, EPOLLIN);
    return true;
  }

  void epoll_control(int operation, int fd, Number number, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = number;
    (void)::epoll_ctl(epoll_, operation, fd, &event);
  }

  // Makes epoll report when the socket is writable, if and only if the connection has unsent bytes.
  void watch_writable(Number number, PeerConnection& peer) {
    if (peer.connection->has_unsent() == peer.waits_to_send) return;
    peer.waits_to_send = !peer.waits_to_send;
    epoll_control(EPOLL_CTL_MOD, peer.connection->fd(), number, peer.waits_to_send ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }

  // Waits for events and handles them. Returns false if a signal interrupted the wait: receive() then returns, so that
  // its caller can check its own flags.
  bool wait_for_events(std::int64_t timeout_ms) {
    if (!handshakes_.empty() || !incomplete_.empty() || listen_again_ms_ != 0)
      timeout_ms = std::min(timeout_ms, kRetryMs);
    std::array<epoll_event, kEventsAtOnce> events;
    const int n = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), static_cast<int>(timeout_ms));
    now_ms_ = sys::monotonic_now_ms();
    for (int i = 0; i < n; ++i) {
      const Number number = events[static_cast<std::size_t>(i)].data.u64;
      if (number < kFirstNumber) {
        accept_all(number);
      } else {
        on_event(number, events[static_cast<std::size_t>(i)].events);
      }
    }
    listen_again();
    disconnect_without_handshake();
    disconnect_with_incomplete_message();
    return n >= 0;
  }

  void on_event(Number number, std::uint32_t events) {
    const auto place = peers_.find(number);
    if (place == peers_.end()) return;
    PeerConnection& peer = place->second;
    if ((events & EPOLLOUT) != 0) (void)peer.connection->flush();
    watch_writable(number, peer);
    // A connection with messages that were not taken yet is not read; its further bytes stay in the socket buffer.
    if (peer.is_readable || (events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return;
    switch (peer.connection->read()) {
      case ZmtpConnection::ReadResult::some:
        if (!peer.connection->is_ready() && !finish_handshake(number, peer)) return;
        peer.is_readable = true;
        readable_of(peer.side).push_back(number);
        return;
      case ZmtpConnection::ReadResult::none:
        return;
      case ZmtpConnection::ReadResult::end_of_stream:
        if (!peer.connection->is_ready() && peer.connection->has_received())
          log_disconnect(peer, "it did not complete the handshake");
        remove(number);
        return;
    }
  }

  // Takes the next item of the handshake. Returns whether the handshake is complete now; disconnects the peer if the
  // item is not valid.
  bool finish_handshake(Number number, PeerConnection& peer) {
    const auto item = peer.connection->next();
    if (!item) return false;
    if (item->kind == ZmtpItem::Kind::ready) return true;
    disconnect(number, peer, item->kind);
    return false;
  }

  void disconnect(Number number, const PeerConnection& peer, ZmtpItem::Kind why) {
    log_disconnect(peer, why == ZmtpItem::Kind::other_mechanism ? "it has a key and this broker runs without keys"
                                                                : "it does not speak the protocol");
    remove(number);
  }

  void accept_all(std::size_t listener) {
    for (std::size_t i = 0; i < kEventsAtOnce; ++i) {
      const int fd = ::accept4(listeners_[listener], nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0) {
        accepted(listener, fd);
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        limiter_.log("accept", sys::error_text("a connection could not be accepted"), now_ms_);
        listen_again_ms_ = now_ms_ + kRetryMs;
        listen_for(0);
        return;
      }
    }
  }

  void listen_again() {
    if (listen_again_ms_ == 0 || now_ms_ < listen_again_ms_) return;
    listen_again_ms_ = 0;
    listen_for(EPOLLIN);
  }

  void listen_for(std::uint32_t events) {
    for (std::size_t i = 0; i < kListeners; ++i) {
      if (listeners_[i] >= 0) epoll_control(EPOLL_CTL_MOD, listeners_[i], i, events);
    }
  }

  void accepted(std::size_t listener, int fd) {
    auto connection = std::make_unique<ZmtpConnection>(fd, "ROUTER", &unsent_bytes_);
    PeerName name = peer_name_of(fd);
    // A connection by the abstract socket has the same account as a TCP connection of this machine.
    if (listener >= kSides) name.account = accounts_[listener - kSides];
    const std::size_t at_account = connections_at_[name.account];
    if (peers_.size() >= limits_.connections_max || at_account >= limits_.connections_per_address_max) {
      limiter_.log("connections " + name.account,
                   "disconnected " + name.account + ": it has " + std::to_string(at_account) +
                       " connections of at most " + std::to_string(limits_.connections_per_address_max) +
                       ", all together have " + std::to_string(peers_.size()) + " of at most " +
                       std::to_string(limits_.connections_max),
                   now_ms_);
      if (at_account == 0) connections_at_.erase(name.account);
      return;
    }
    ++connections_at_[name.account];
    const Number number = next_number_++;
    (void)connection->flush();
    epoll_control(EPOLL_CTL_ADD, fd, number, EPOLLIN);
    PeerConnection& peer = peers_
                               .emplace(number, PeerConnection{.connection = std::move(connection),
                                                               .side = side_of(listener),
                                                               .name = std::move(name)})
                               .first->second;
    watch_writable(number, peer);
    handshakes_.emplace_back(now_ms_ + limits_.handshake_ms, number);
  }

  void disconnect_without_handshake() {
    for (; !handshakes_.empty() && handshakes_.front().first <= now_ms_; handshakes_.pop_front()) {
      const auto place = peers_.find(handshakes_.front().second);
      if (place == peers_.end() || place->second.connection->is_ready()) continue;
      log_disconnect(place->second, "it did not complete the handshake; it may not be a client of kq");
      remove(place->first);
    }
  }

  void disconnect_with_incomplete_message() {
    while (!incomplete_.empty() && (incomplete_.begin()->first + limits_.message_ms <= now_ms_ ||
                                    incomplete_bytes_ > limits_.incomplete_bytes_max)) {
      const Number number = incomplete_.begin()->second;
      const PeerConnection& peer = peers_.at(number);
      log_disconnect(peer, incomplete_bytes_ > limits_.incomplete_bytes_max
                               ? "the incomplete messages of all connections together are too long"
                               : "it did not complete its message in time");
      remove(number);
    }
  }

  // Updates the bytes and the deadline of an incomplete message, after all complete messages of the peer were taken. A
  // complete message ends the deadline of the previous one (forget_incomplete), so a new deadline begins here.
  void track_incomplete(Number number, PeerConnection& peer) {
    const std::size_t bytes = peer.connection->incomplete_bytes();
    if (bytes == 0 && peer.incomplete_bytes == 0) return;
    incomplete_bytes_ += bytes - peer.incomplete_bytes;
    if (peer.incomplete_bytes == 0) incomplete_.emplace(peer.incomplete_since_ms = now_ms_, number);
    if (bytes == 0) incomplete_.erase({peer.incomplete_since_ms, number});
    peer.incomplete_bytes = bytes;
  }

  void forget_incomplete(Number number, PeerConnection& peer) {
    if (peer.incomplete_bytes == 0) return;
    incomplete_bytes_ -= std::exchange(peer.incomplete_bytes, 0);
    incomplete_.erase({peer.incomplete_since_ms, number});
  }

  void log_disconnect(const PeerConnection& peer, const char* why) {
    limiter_.log("handshake " + peer.name.account, "disconnected " + peer.name.text + ": " + why, now_ms_);
  }

  void remove(Number number) {
    const auto place = peers_.find(number);
    const auto at = connections_at_.find(place->second.name.account);
    if (--at->second == 0) connections_at_.erase(at);
    forget_incomplete(number, place->second);
    peers_.erase(place);
  }

  // Takes one message of each readable peer in turn, until there is none or the batch is full.
  void take(Side side, std::size_t packets_max, Batch& batch) {
    std::deque<Number>& readable = readable_of(side);
    for (std::size_t i = 0; i < kReceivesPerTurnMax && !readable.empty() && batch.has_room(packets_max); ++i) {
      const Number number = readable.front();
      readable.pop_front();
      const auto place = peers_.find(number);
      if (place == peers_.end()) continue;
      PeerConnection& peer = place->second;
      auto item = peer.connection->next();
      watch_writable(number, peer);  // the answer to a ping may be unsent
      if (!item) {
        peer.is_readable = false;
        track_incomplete(number, peer);
        continue;
      }
      forget_incomplete(number, peer);
      if (item->kind == ZmtpItem::Kind::malformed) {
        disconnect(number, peer, item->kind);
        continue;
      }
      readable.push_back(number);
      Packet packet{
          .peer = {side, id_of(number)}, .bytes = std::move(item->bytes), .who = {}, .address = peer.name.text};
      if (item->kind == ZmtpItem::Kind::multipart) {
        limiter_.log("shape", packet, ": a message of several parts", now_ms_);
      } else if (limiter_.allow(packet, packet.bytes.size(), now_ms_)) {
        batch.byte_count += packet.bytes.size();
        batch.packets.push_back(std::move(packet));
      }
    }
  }

  const ServerLimits limits_;
  RateLimiter limiter_;
  const int epoll_;
  std::array<int, kListeners> listeners_{-1, -1, -1, -1};  // by Side, then the abstract sockets by Side; -1: none
  std::array<std::string, kSides> accounts_;               // by Side: the accounts of connections by abstract socket
  std::vector<std::string> paths_;                         // of the listening ipc sockets
  std::size_t unsent_bytes_ = 0;                           // of all connections
  std::unordered_map<Number, PeerConnection> peers_;
  Number next_number_ = kFirstNumber;
  std::unordered_map<std::string, std::size_t> connections_at_;  // by account
  std::array<std::deque<Number>, 2> readable_;              // by Side: connections that may have messages, each once
  std::deque<std::pair<std::int64_t, Number>> handshakes_;  // deadlines of the handshakes, in order
  std::set<std::pair<std::int64_t, Number>> incomplete_;    // connections with an incomplete message, by its start time
  std::size_t incomplete_bytes_ = 0;                        // of all incomplete messages
  bool is_holding_ = false;
  std::vector<Number> held_;          // connections with messages that wait for release()
  std::int64_t listen_again_ms_ = 0;  // when connections are accepted again; 0 while they are accepted
  std::int64_t now_ms_ = 0;           // time of the last wait_for_events()
};

}  // namespace

Expected<std::unique_ptr<ServerLink>> bind_local_server(const Endpoints& endpoints, const ServerLimits& limits) {
  auto link = std::make_unique<LocalServerLink>(limits);
  KQ_TRY(link->bind(endpoints));
  return std::unique_ptr<ServerLink>(std::move(link));
}

}  // namespace kq::net
