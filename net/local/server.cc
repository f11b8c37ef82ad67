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

#include "net/limits/senders.h"
#include "net/local/address.h"
#include "net/local/connection.h"
#include "net/local/link.h"
#include "sys/clock.h"
#include "sys/error_text.h"

namespace kq::net {
namespace {

constexpr std::size_t kEventsAtOnce = 256;
constexpr std::size_t kLooksMax = 1'024;             // messages taken from one side before the other one has its turn
constexpr std::size_t kReceiveBytesMax = 16u << 20;  // after so many, receive() leaves the rest for later
constexpr std::int64_t kNoRoomMs =
    100;  // until a connection that could not be taken is tried again; how late a deadline may be seen

// Connections are numbered from above the listeners: one for each side, and their shortcuts.
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

class PlainServerLink final : public ServerLink {
 public:
  explicit PlainServerLink(const ServerLimits& limits)
      : limits_(limits), senders_(limits.rates), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  ~PlainServerLink() override {
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
      const bool is_undisturbed = look(is_behind()   ? 0
                                       : end_ms == 0 ? 0
                                                     : std::max<std::int64_t>(end_ms - sys::monotonic_now_ms(), 0));
      // Workers first: a flood of submissions must not age the results and heartbeats behind it. A flood of workers
      // leaves a quarter to the clients.
      const std::size_t share = packets_max - packets_max / 4;
      take(Side::worker, share, batch);
      const bool has_more = batch.packets.size() >= share;
      take(Side::client, packets_max, batch);
      if (has_more) take(Side::worker, packets_max, batch);
      const bool has_some = !batch.packets.empty() || (packets_max == 0 && is_behind());
      if (has_some || !is_undisturbed || now_ms_ >= end_ms) return std::move(batch.packets);
    }
  }

  bool send(const Peer& peer, std::string bytes) override {
    const auto place = peers_.find(number_in(peer.id));
    if (place == peers_.end() || place->second.side != peer.side) return false;
    Connected& to = place->second;
    if (is_holding_) {
      if (!to.connection->send_later(std::move(bytes))) return false;
      if (!std::exchange(to.is_held, true)) held_.push_back(place->first);
      return true;
    }
    const bool sent = to.connection->send(bytes);
    watch(place->first, to);
    return sent;
  }

  void hold() override { is_holding_ = true; }

  void release() override {
    is_holding_ = false;
    for (const Number number : std::exchange(held_, {})) {
      Connected& to = peers_.at(number);  // nobody is lost while sends are held
      to.is_held = false;
      (void)to.connection->flush();  // whoever is lost shows when he is heard
      watch(number, to);
    }
  }

  void blame(const Packet& packet, std::string_view why) override { senders_.blame(packet, why, now_ms_); }
  std::vector<std::string> take_notes() override { return senders_.take_notes(sys::monotonic_now_ms()); }

 private:
  struct Connected {
    std::unique_ptr<PlainConnection> connection;
    Side side = Side::client;
    PeerName name{};
    bool is_heard = false;        // it stands in heard_: there may be messages of it
    bool waits_to_send = false;   // as epoll was told
    bool is_held = false;         // it stands in held_
    std::size_t begun_bytes = 0;  // of a message that is not whole; it stands in begun_ then
    std::int64_t begun_ms = 0;
  };
  struct Batch {
    std::vector<Packet> packets{};
    std::size_t bytes_n = 0;

    bool has_room(std::size_t packets_max) const { return packets.size() < packets_max && bytes_n < kReceiveBytesMax; }
  };

  bool is_behind() const { return !heard_[0].empty() || !heard_[1].empty(); }
  std::deque<Number>& heard_of(Side side) { return heard_[static_cast<std::size_t>(side)]; }

  Expected<void> bind_one(std::size_t listener, const std::string& endpoint) {
    KQ_TRY_VALUE(const auto address, plain_address(endpoint));
    const std::string path = path_of(endpoint);
    if (!path.empty()) ::unlink(path.c_str());
    if (!listen_at(listener, address) || !add_shortcut(listener, address, endpoint)) {
      const char* const hint = errno == EADDRINUSE ? "another program listens there, choose another port"
                               : errno == ENOENT   ? "its directory must exist"
                                                   : "the broker cannot listen there";
      return our_fault(endpoint + ": " + sys::error_text(errno) + "; " + hint);
    }
    if (!path.empty()) paths_.push_back(path);
    return {};
  }

  // Whoever cannot come by the shortcut, or does not trust who listens there, comes the long way: so a name that a
  // stranger has taken costs speed alone. Clients would trust a program of the broker's own user, which therefore may
  // not have it.
  bool add_shortcut(std::size_t listener, const PlainAddress& address, const std::string& endpoint) {
    const auto shortcut = shortcut_to(address);
    accounts_[listener] = address.storage.ss_family == AF_INET6 ? "::1" : "127.0.0.1";
    if (!shortcut || listen_at(listener + kSides, *shortcut)) return true;
    if (is_trusted_listener_at(*shortcut)) {
      errno = EADDRINUSE;
      return false;
    }
    senders_.note(
        "shortcut",
        endpoint + ": another user's program has the abstract socket beside it; programs of this machine come by TCP",
        sys::monotonic_now_ms());
    return true;
  }

  bool listen_at(std::size_t listener, const PlainAddress& address) {
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
    tell(EPOLL_CTL_ADD, fd, listener, EPOLLIN);
    return true;
  }

  void tell(int operation, int fd, Number number, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = number;
    (void)::epoll_ctl(epoll_, operation, fd, &event);
  }

  // Has the system tell when more can be sent, exactly while something waits for that.
  void watch(Number number, Connected& peer) {
    if (peer.connection->has_unsent() == peer.waits_to_send) return;
    peer.waits_to_send = !peer.waits_to_send;
    tell(EPOLL_CTL_MOD, peer.connection->fd(), number, peer.waits_to_send ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }

  // Waits for news, and hears it. False: a signal came, the caller looks at its own flags and comes back.
  bool look(std::int64_t timeout_ms) {
    if (!handshakes_.empty() || !begun_.empty() || listen_again_ms_ != 0) timeout_ms = std::min(timeout_ms, kNoRoomMs);
    std::array<epoll_event, kEventsAtOnce> events;
    const int n = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), static_cast<int>(timeout_ms));
    now_ms_ = sys::monotonic_now_ms();
    for (int i = 0; i < n; ++i) {
      const Number number = events[static_cast<std::size_t>(i)].data.u64;
      if (number < kFirstNumber) {
        accept_all(number);
      } else {
        hear(number, events[static_cast<std::size_t>(i)].events);
      }
    }
    listen_again();
    hang_up_on_the_silent();
    hang_up_on_the_unfinished();
    return n >= 0;
  }

  void hear(Number number, std::uint32_t events) {
    const auto place = peers_.find(number);
    if (place == peers_.end()) return;
    Connected& peer = place->second;
    if ((events & EPOLLOUT) != 0) (void)peer.connection->flush();
    watch(number, peer);
    // Whose messages wait already is not read on: what more it sends waits with the system.
    if (peer.is_heard || (events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return;
    switch (peer.connection->read()) {
      case PlainConnection::Heard::something:
        if (!peer.connection->is_ready() && !greets(number, peer)) return;
        peer.is_heard = true;
        heard_of(peer.side).push_back(number);
        return;
      case PlainConnection::Heard::nothing:
        return;
      case PlainConnection::Heard::end:
        if (!peer.connection->is_ready() && peer.connection->has_heard())
          note_hung_up(peer, "it did not finish the handshake");
        lose(number);
        return;
    }
  }

  // Whether its handshake is over now.
  bool greets(Number number, Connected& peer) {
    const auto item = peer.connection->next();
    if (!item) return false;
    if (item->kind == ZmtpItem::Kind::ready) return true;
    hang_up_on(number, peer, item->kind);
    return false;
  }

  void hang_up_on(Number number, const Connected& peer, ZmtpItem::Kind why) {
    note_hung_up(peer, why == ZmtpItem::Kind::foreign ? "it comes with a key and this broker runs without"
                                                      : "what it says is not the protocol");
    lose(number);
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
        senders_.note("accept", sys::error_text("a connection could not be taken"), now_ms_);
        listen_again_ms_ = now_ms_ + kNoRoomMs;
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
      if (listeners_[i] >= 0) tell(EPOLL_CTL_MOD, listeners_[i], i, events);
    }
  }

  void accepted(std::size_t listener, int fd) {
    auto connection = std::make_unique<PlainConnection>(fd, "ROUTER", &unsent_bytes_);
    PeerName name = peer_of(fd);
    if (listener >= kSides)
      name.account = accounts_[listener - kSides];  // one machine has one account, whichever way its programs come
    const std::size_t at_account = connections_at_[name.account];
    if (peers_.size() >= limits_.connections_max || at_account >= limits_.connections_per_address_max) {
      senders_.note("connections " + name.account,
                    "hung up on " + name.account + ": it has " + std::to_string(at_account) +
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
    tell(EPOLL_CTL_ADD, fd, number, EPOLLIN);
    Connected& peer =
        peers_
            .emplace(number,
                     Connected{.connection = std::move(connection), .side = side_of(listener), .name = std::move(name)})
            .first->second;
    watch(number, peer);
    handshakes_.emplace_back(now_ms_ + limits_.handshake_ms, number);
  }

  void hang_up_on_the_silent() {
    for (; !handshakes_.empty() && handshakes_.front().first <= now_ms_; handshakes_.pop_front()) {
      const auto place = peers_.find(handshakes_.front().second);
      if (place == peers_.end() || place->second.connection->is_ready()) continue;
      note_hung_up(place->second, "it did not finish the handshake; it may be no client of kq");
      lose(place->first);
    }
  }

  void hang_up_on_the_unfinished() {
    while (!begun_.empty() &&
           (begun_.begin()->first + limits_.message_ms <= now_ms_ || begun_bytes_ > limits_.begun_bytes_max)) {
      const Number number = begun_.begin()->second;
      const Connected& peer = peers_.at(number);
      note_hung_up(peer, begun_bytes_ > limits_.begun_bytes_max ? "its message is not whole, and others' are not either"
                                                                : "it did not finish its message");
      lose(number);
    }
  }

  // It has said all that has arrived. A message that it begins now is a new one, if one was whole before.
  void note_begun(Number number, Connected& peer) {
    const std::size_t bytes = peer.connection->begun_bytes();
    if (bytes == 0 && peer.begun_bytes == 0) return;
    begun_bytes_ += bytes - peer.begun_bytes;
    if (peer.begun_bytes == 0) begun_.emplace(peer.begun_ms = now_ms_, number);
    if (bytes == 0) begun_.erase({peer.begun_ms, number});
    peer.begun_bytes = bytes;
  }

  void forget_begun(Number number, Connected& peer) {
    if (peer.begun_bytes == 0) return;
    begun_bytes_ -= std::exchange(peer.begun_bytes, 0);
    begun_.erase({peer.begun_ms, number});
  }

  void note_hung_up(const Connected& peer, const char* why) {
    senders_.note("handshake " + peer.name.account, "hung up on " + peer.name.text + ": " + why, now_ms_);
  }

  void lose(Number number) {
    const auto place = peers_.find(number);
    const auto at = connections_at_.find(place->second.name.account);
    if (--at->second == 0) connections_at_.erase(at);
    forget_begun(number, place->second);
    peers_.erase(place);
  }

  // One message of each peer in turn, until there is none or no room.
  void take(Side side, std::size_t packets_max, Batch& batch) {
    std::deque<Number>& heard = heard_of(side);
    for (std::size_t i = 0; i < kLooksMax && !heard.empty() && batch.has_room(packets_max); ++i) {
      const Number number = heard.front();
      heard.pop_front();
      const auto place = peers_.find(number);
      if (place == peers_.end()) continue;
      Connected& peer = place->second;
      auto item = peer.connection->next();
      watch(number, peer);  // it may have been a ping
      if (!item) {
        peer.is_heard = false;
        note_begun(number, peer);
        continue;
      }
      forget_begun(number, peer);
      if (item->kind == ZmtpItem::Kind::broken) {
        hang_up_on(number, peer, item->kind);
        continue;
      }
      heard.push_back(number);
      Packet packet{
          .peer = {side, id_of(number)}, .bytes = std::move(item->bytes), .who = {}, .address = peer.name.text};
      if (item->kind == ZmtpItem::Kind::parts) {
        senders_.note("shape", packet, ": a message of several parts", now_ms_);
      } else if (senders_.allow(packet, packet.bytes.size(), now_ms_)) {
        batch.bytes_n += packet.bytes.size();
        batch.packets.push_back(std::move(packet));
      }
    }
  }

  const ServerLimits limits_;
  Senders senders_;
  const int epoll_;
  std::array<int, kListeners> listeners_{-1, -1, -1, -1};  // by Side, then the shortcuts by Side; -1: none
  std::array<std::string, kSides> accounts_;               // of whoever comes by a shortcut, as he would have over TCP
  std::vector<std::string> paths_;                         // of the listeners
  std::size_t unsent_bytes_ = 0;                           // of all connections
  std::unordered_map<Number, Connected> peers_;
  Number next_number_ = kFirstNumber;
  std::unordered_map<std::string, std::size_t> connections_at_;  // by account
  std::array<std::deque<Number>, 2> heard_;                      // by Side: those that may have messages, each once
  std::deque<std::pair<std::int64_t, Number>> handshakes_;       // until when, in order
  std::set<std::pair<std::int64_t, Number>> begun_;              // since when: those whose message is not whole
  std::size_t begun_bytes_ = 0;                                  // of theirs
  bool is_holding_ = false;
  std::vector<Number> held_;          // what they are to be sent waits for release()
  std::int64_t listen_again_ms_ = 0;  // 0: it listens
  std::int64_t now_ms_ = 0;           // of the last look
};

}  // namespace

Expected<std::unique_ptr<ServerLink>> bind_plain_server(const Endpoints& endpoints, const ServerLimits& limits) {
  auto link = std::make_unique<PlainServerLink>(limits);
  KQ_TRY(link->bind(endpoints));
  return std::unique_ptr<ServerLink>(std::move(link));
}

}  // namespace kq::net
