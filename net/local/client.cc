#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "net/local/address.h"
#include "net/local/connection.h"
#include "net/local/link.h"
#include "sys/clock.h"

namespace kq::net {
namespace {

constexpr std::int64_t kReconnectMs = 50;
constexpr std::int64_t kReconnectMsMax = 1'000;
constexpr std::int64_t kLingerMs = 300;   // time for a last message to go out when the link is destroyed
constexpr std::int64_t kSendWaitMs = 50;  // lets the first send wait for its connection
constexpr int kDisconnectsMax = 3;        // handshakes that fail in a row before refusal() reports it

// A client's link over one ZmtpConnection. Only calls of the link make progress: they connect, send and receive.
class LocalClientLink final : public ClientLink {
 public:
  explicit LocalClientLink(std::string endpoint) : endpoint_(std::move(endpoint)) {}

  ~LocalClientLink() override {
    if (!connection_ || !connection_->is_ready()) return;
    for (const std::int64_t end_ms = sys::monotonic_now_ms() + kLingerMs; connection_->has_unsent();) {
      const std::int64_t left_ms = end_ms - sys::monotonic_now_ms();
      if (left_ms <= 0 || !connection_->flush()) return;
      pollfd item{connection_->fd(), POLLOUT, 0};
      if (connection_->has_unsent()) (void)::poll(&item, 1, static_cast<int>(left_ms));
    }
  }

  bool send(std::string_view bytes) override {
    for (const std::int64_t end_ms = sys::monotonic_now_ms() + kSendWaitMs;;) {
      advance();
      if (connection_ && connection_->send(bytes)) return true;
      if (connection_ && connection_->is_lost()) drop_connection();
      const std::int64_t left_ms = end_ms - sys::monotonic_now_ms();
      if (left_ms <= 0 || wait(left_ms, For::sending) == Woken::by_signal) return false;
      continue_handshake();
    }
  }

  Expected<std::optional<std::string>> receive(std::int64_t timeout_ms) override {
    const std::int64_t end_ms = sys::monotonic_now_ms() + timeout_ms;
    const bool was_refused = refusal_.has_value();
    // A caller with a timeout waits first, because mostly no message has arrived yet and the read would be wasted.
    for (bool may_have_arrived = timeout_ms <= 0;; may_have_arrived = true) {
      advance();
      if (auto message = may_have_arrived ? read_message() : next_message()) return message;
      const std::int64_t left_ms = end_ms - sys::monotonic_now_ms();
      if (left_ms <= 0 || (refusal_ && !was_refused)) return std::nullopt;
      if (wait(left_ms, For::receiving) != Woken::by_network) return std::nullopt;
    }
  }

  void wake_on(int fd) override { wake_fd_ = fd; }

  std::uint64_t connection_count() override {
    advance();
    continue_handshake();
    return connection_count_;
  }

  std::optional<std::string> refusal() override {
    advance();
    continue_handshake();
    return refusal_;
  }

 private:
  // Connects if it is time to, and sends unsent bytes as far as the socket takes them. Does not block.
  void advance() {
    if (!connection_ && sys::monotonic_now_ms() >= connect_at_ms_) begin_connecting();
    if (!connection_ || !connection_->has_unsent()) return;
    pollfd item{connection_->fd(), POLLOUT, 0};
    if (is_connecting_ && ::poll(&item, 1, 0) == 0) return;
    is_connecting_ = false;
    if (!connection_->flush()) drop_connection();
  }

  // Connects to the abstract socket of a loopback address if a trusted process listens there, and else to the address.
  void begin_connecting() {
    const auto address = socket_address(endpoint_);
    if (!address) return drop_connection();
    is_connecting_ = true;
    const auto abstract = abstract_address_of(*address);
    if (abstract && connect(*abstract) && is_peer_trusted(connection_->fd())) return;
    if (!connect(*address)) drop_connection();
  }

  // Returns whether the socket is connected or is connecting.
  bool connect(const SocketAddress& address) {
    const int fd = ::socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    connection_.emplace(fd, "DEALER");
    return ::connect(fd, address.get(), address.bytes) == 0 || errno == EINPROGRESS;
  }

  void drop_connection() {
    connection_.reset();
    connect_at_ms_ = sys::monotonic_now_ms() + reconnect_ms_;
    reconnect_ms_ = std::min(2 * reconnect_ms_, kReconnectMsMax);
  }

  // Reads the handshake if it is incomplete. A message that arrives with it is kept for receive().
  void continue_handshake() {
    if (!connection_ || connection_->is_ready() || early_message_) return;
    early_message_ = read_message();
  }

  // Returns the next message that has arrived, and reads from the socket if needed.
  std::optional<std::string> read_message() {
    for (;;) {
      if (auto message = next_message()) return message;
      if (!connection_ || is_connecting_) return std::nullopt;
      switch (connection_->read()) {
        case ZmtpConnection::ReadResult::some:
          break;
        case ZmtpConnection::ReadResult::none:
          return std::nullopt;
        case ZmtpConnection::ReadResult::end_of_stream:
          on_end_of_stream();
          break;
      }
    }
  }

  // Returns the next message of the bytes read so far. Handles the other items.
  std::optional<std::string> next_message() {
    if (early_message_) return std::exchange(early_message_, std::nullopt);
    while (connection_) {
      auto item = connection_->next();
      if (!item) break;
      switch (item->kind) {
        case ZmtpItem::Kind::ready:
          refusal_.reset();
          disconnect_count_ = 0;
          reconnect_ms_ = kReconnectMs;
          ++connection_count_;
          break;
        case ZmtpItem::Kind::message:
          return std::move(item->bytes);
        case ZmtpItem::Kind::other_mechanism:
          refuse("it needs a key; give yours with --key FILE or KQ_KEY");
          break;
        case ZmtpItem::Kind::malformed:
          refuse("the peer is not a broker, or has other keys than the broker that this key was made for");
          break;
        case ZmtpItem::Kind::multipart:
        case ZmtpItem::Kind::ping:
          break;
      }
    }
    return std::nullopt;
  }

  // Sets the reason of the refusal. The link still reconnects, because another broker may listen there later.
  void refuse(std::string why) {
    refusal_ = std::move(why);
    reconnect_ms_ = kReconnectMsMax;
    drop_connection();
  }

  void on_end_of_stream() {
    // A single failure may come from a broker that was being stopped.
    if (!connection_->is_ready() && ++disconnect_count_ >= kDisconnectsMax) {
      refusal_ = "it disconnects before the handshake is over; if it needs a key, give yours with --key FILE or KQ_KEY";
    }
    drop_connection();
  }

  // Waits at most `wait_ms` until the socket can make progress, it is time to reconnect, the caller's descriptor is
  // readable or a signal arrives.
  enum class For { sending, receiving };
  enum class Woken { by_network, by_caller, by_signal };
  Woken wait(std::int64_t wait_ms, For what) {
    std::array<pollfd, 2> items{{{-1, 0, 0}, {what == For::receiving ? wake_fd_ : -1, POLLIN, 0}}};
    if (connection_) {
      // A caller that wants to send is not woken by messages that could be received.
      const bool wants_input = !is_connecting_ && (what == For::receiving || !connection_->is_ready());
      items[0] = {connection_->fd(),
                  static_cast<short>((wants_input ? POLLIN : 0) | (connection_->has_unsent() ? POLLOUT : 0)), 0};
    } else {
      wait_ms = std::clamp<std::int64_t>(connect_at_ms_ - sys::monotonic_now_ms(), 0, wait_ms);
    }
    if (::poll(items.data(), items.size(), static_cast<int>(wait_ms)) < 0) return Woken::by_signal;
    return items[1].revents != 0 && items[0].revents == 0 ? Woken::by_caller : Woken::by_network;
  }

  const std::string endpoint_;
  std::optional<ZmtpConnection> connection_;
  bool is_connecting_ = false;
  std::int64_t connect_at_ms_ = 0;
  std::int64_t reconnect_ms_ = kReconnectMs;
  int wake_fd_ = -1;
  int disconnect_count_ = 0;
  std::uint64_t connection_count_ = 0;
  std::optional<std::string> refusal_;
  std::optional<std::string> early_message_;  // arrived directly after the handshake, outside of receive()
};

}  // namespace

Expected<std::unique_ptr<ClientLink>> connect_local_client(const std::string& endpoint) {
  const auto address = socket_address(endpoint);
  if (!address && address.error().kind == ErrorKind::bad_input) return failure(address.error());
  return std::make_unique<LocalClientLink>(endpoint);
}

}  // namespace kq::net
