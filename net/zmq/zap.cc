#include "net/zmq/zap.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <utility>

#include "net/local/address.h"
#include "net/zmq/monitor.h"
#include "sys/clock.h"
#include "sys/error_text.h"

namespace kq::net {
namespace {

constexpr const char* kZapEndpoint = "inproc://zeromq.zap.01";  // RFC 27
constexpr std::chrono::milliseconds kPollMs{500};               // the period in which a changed `authorized` is noticed
constexpr std::size_t kZapFrames = 7;  // version, request, domain, address, routing id, mechanism, key
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kEventsAtOnce = 64;

constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_ACCEPT_FAILED;

std::vector<zmq::message_t> receive_all(zmq::socket_t& socket) {
  std::vector<zmq::message_t> frames(1);
  if (!socket.recv(frames.back(), zmq::recv_flags::dontwait)) return {};
  while (frames.back().more()) {
    frames.emplace_back();
    (void)socket.recv(frames.back());
  }
  return frames;
}

std::string text_in(const zmq::message_t& frame) {
  return {static_cast<const char*>(frame.data()), frame.size()};
}

}  // namespace

bool may_use(Role role, Side side) {
  switch (role) {
    case Role::submit:
    case Role::admin:
    case Role::gateway:
      return side == Side::client;
    case Role::work:
    case Role::standby:
      return side == Side::worker;
  }
  return false;
}

ZapAuthenticator::ZapAuthenticator(zmq::context_t& context, zmq::socket_t& clients, zmq::socket_t& workers,
                                   ZapOptions options, Authorized authorized)
    : options_(std::move(options)),
      authorized_(std::make_shared<const Authorized>(std::move(authorized))),
      watched_{&clients, &workers},
      zap_(context, zmq::socket_type::rep) {
  zap_.bind(kZapEndpoint);
  for (const Side side : {Side::client, Side::worker}) {
    const auto i = static_cast<std::size_t>(side);
    const std::string endpoint = "inproc://kq.monitor." + std::string(to_string(side));
    if (zmq_socket_monitor(watched_[i]->handle(), endpoint.c_str(), kEvents) != 0) throw zmq::error_t();
    monitors_[i].socket = zmq::socket_t(context, zmq::socket_type::pair);
    monitors_[i].socket.connect(endpoint);
  }
  stop_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { serve(); });
}

ZapAuthenticator::~ZapAuthenticator() {
  // Stops the monitors first: ZeroMQ would block while it reports an event that no thread reads.
  for (zmq::socket_t* socket : watched_) (void)zmq_socket_monitor(socket->handle(), nullptr, 0);
  (void)::eventfd_write(stop_fd_, 1);
  thread_.join();
  ::close(stop_fd_);
}

std::vector<std::string> ZapAuthenticator::take_log_lines() {
  const std::lock_guard lock(log_mutex_);
  return log_.take(sys::monotonic_now_ms());
}

void ZapAuthenticator::log(const std::string& subject, const std::string& text) {
  const std::lock_guard lock(log_mutex_);
  log_.add(subject, sys::monotonic_now_ms(), [&] { return text; });
}

void ZapAuthenticator::serve() {
  std::array<zmq::pollitem_t, 4> items{{{monitors_[0].socket.handle(), 0, ZMQ_POLLIN, 0},
                                        {monitors_[1].socket.handle(), 0, ZMQ_POLLIN, 0},
                                        {zap_.handle(), 0, ZMQ_POLLIN, 0},
                                        {nullptr, stop_fd_, ZMQ_POLLIN, 0}}};
  for (;;) {
    try {
      zmq::poll(items, kPollMs);
      if (items[3].revents != 0) return;
      follow_authorized();
      observe(Side::client);
      observe(Side::worker);
      answer_zap();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR && error.num() != EAGAIN)
        return log("authenticator", std::string("the authenticator has ended: ") + error.what());
    }
  }
}

void ZapAuthenticator::answer_zap() {
  for (auto frames = receive_all(zap_); !frames.empty(); frames = receive_all(zap_)) {
    std::string why = "the request is not one that ZeroMQ sends";
    std::string public_key;
    if (frames.size() == kZapFrames && text_in(frames[5]) == "CURVE" && frames[6].size() == kKeyBytes) {
      std::array<char, kKeyChars + 1> text{};
      zmq_z85_encode(text.data(), static_cast<const std::uint8_t*>(frames[6].data()), kKeyBytes);
      public_key = text.data();
      const std::string domain = text_in(frames[2]);
      why = refusal(domain, public_key);
      if (!why.empty())
        log(text_in(frames[3]) + public_key, "refused a " + domain + " at " + text_in(frames[3]) + ": " + why);
    }
    // The key itself becomes the connection's user id. The role is looked up for each message, so that a change of the
    // list takes effect at once.
    const bool is_accepted = why.empty();
    const std::array<std::string, 6> reply{"1.0",
                                           frames.size() > 1 ? text_in(frames[1]) : "",
                                           is_accepted ? "200" : "400",
                                           is_accepted ? "OK" : "no",
                                           is_accepted ? public_key : "",
                                           ""};
    for (std::size_t i = 0; i < reply.size(); ++i) {
      zap_.send(zmq::buffer(reply[i]), i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
  }
}

// Returns why this key may not use this socket, or an empty text if it may.
std::string ZapAuthenticator::refusal(std::string_view domain, const std::string& public_key) {
  const auto side = parse_enum<Side>(domain);
  // The key may have been added after the last look at the list, while this thread had no processor.
  if (authorized()->find(public_key) == nullptr) follow_authorized();
  const auto list = authorized();
  const Identity* who = list->find(public_key);
  if (who == nullptr) return "its key " + public_key + " is not in " + authorized_path(options_.key_folder);
  if (side && may_use(who->role, *side)) return "";
  return "the key of '" + who->name + "' has the role " + std::string(to_string(who->role));
}

void ZapAuthenticator::observe(Side side) {
  Monitor& monitor = monitors_[static_cast<std::size_t>(side)];
  for (std::size_t i = 0; i < kEventsAtOnce; ++i) {
    const auto next = next_event(monitor.socket);
    if (!next) return;
    const auto [event, value] = *next;
    switch (event) {
      case ZMQ_EVENT_ACCEPTED:
        accepted(monitor, value);
        break;
      case ZMQ_EVENT_ACCEPT_FAILED:
        log("accept", "a connection could not be accepted: " + sys::error_text(value));
        break;
      case ZMQ_EVENT_DISCONNECTED:
        lost(monitor, value);
        break;
      // ZeroMQ closes the connection after a failed handshake, and its single I/O thread reports that as the next
      // event.
      case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        monitor.failure = value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH
                              ? "it has no key"
                              : "it does not speak the protocol, or its key is for another broker";
        break;
      case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        monitor.failure = "it did not complete the handshake; it may have no key, or not be a client of kq";
        break;
      default:
        break;
    }
  }
}

void ZapAuthenticator::accepted(Monitor& monitor, int fd) {
  // The loss of a connection may go unreported. Its descriptor then appears again with a new connection.
  if (monitor.address_of.contains(fd)) lost(monitor, fd);
  const PeerName peer = peer_name_of(fd);
  std::string address = peer.account.empty() ? peer.text : peer.account;
  const std::size_t at_address = ++connections_at_[address];
  ++connection_count_;
  if (connection_count_ > options_.connections_max || at_address > options_.connections_per_address_max) {
    // If the descriptor already belongs to another connection, that one is closed and its peer reconnects.
    ::shutdown(fd, SHUT_RDWR);
    log("connections " + address,
        "disconnected " + address + ": it has " + std::to_string(at_address - 1) + " connections of at most " +
            std::to_string(options_.connections_per_address_max) + ", all together have " +
            std::to_string(connection_count_ - 1) + " of at most " + std::to_string(options_.connections_max));
  }
  monitor.address_of[fd] = std::move(address);
}

void ZapAuthenticator::lost(Monitor& monitor, int fd) {
  const std::string failure = std::exchange(monitor.failure, {});
  const auto known = monitor.address_of.find(fd);
  if (known == monitor.address_of.end()) return;
  const std::string& address = known->second;
  if (!failure.empty()) log("handshake " + address, "disconnected " + address + ": " + failure);
  --connection_count_;
  const auto at = connections_at_.find(address);
  if (--at->second == 0) connections_at_.erase(at);
  monitor.address_of.erase(known);
}

void ZapAuthenticator::follow_authorized() {
  const auto now = signature();
  if (now == read_signature_) return;
  read_signature_ = now;
  auto list = read_authorized(options_.key_folder);
  if (!list) return log("authorized", list.error().message + "; the keys read before stay in force");
  authorized_.store(std::make_shared<const Authorized>(std::move(*list)));
}

std::optional<ZapAuthenticator::FileSignature> ZapAuthenticator::signature() const {
  struct stat status {};
  if (::stat(authorized_path(options_.key_folder).c_str(), &status) != 0) return std::nullopt;
  return FileSignature{status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec, status.st_ino, status.st_size};
}

}  // namespace kq::net
