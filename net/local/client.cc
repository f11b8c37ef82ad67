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
constexpr std::int64_t kLingerMs = 300;   // a goodbye may still go out; nobody waits longer for it
constexpr std::int64_t kSendWaitMs = 50;  // lets the very first send meet its connection
constexpr int kHungUpMax = 3;             // handshakes broken off in a row, before that is told

class PlainClientLink final : public ClientLink {
 public:
  explicit PlainClientLink(std::string endpoint) : endpoint_(std::move(endpoint)) {}

  ~PlainClientLink() override {
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
      if (connection_ && connection_->is_lost()) lose();
      const std::int64_t left_ms = end_ms - sys::monotonic_now_ms();
      if (left_ms <= 0 || wait(left_ms, For::sending) == Woken::by_signal) return false;
      greet();
    }
  }

  Expected<std::optional<std::string>> receive(std::int64_t timeout_ms) override {
    const std::int64_t end_ms = sys::monotonic_now_ms() + timeout_ms;
    const bool was_refused = refusal_.has_value();
    // Whoever waits has mostly nothing to read yet: the wait says when there is.
    for (bool may_have_arrived = timeout_ms <= 0;; may_have_arrived = true) {
      advance();
      if (auto message = may_have_arrived ? take() : heard()) return message;
      const std::int64_t left_ms = end_ms - sys::monotonic_now_ms();
      if (left_ms <= 0 || (refusal_ && !was_refused)) return std::nullopt;
      if (wait(left_ms, For::receiving) != Woken::by_network) return std::nullopt;
    }
  }

  void wake_on(int fd) override { wake_fd_ = fd; }

  std::optional<std::string> refusal() override {
    advance();
    greet();
    return refusal_;
  }

 private:
  // Does what can be done at once for the connection.
  void advance() {
    if (!connection_ && sys::monotonic_now_ms() >= connect_at_ms_) begin();
    if (!connection_ || !connection_->has_unsent()) return;
    pollfd item{connection_->fd(), POLLOUT, 0};
    if (is_connecting_ && ::poll(&item, 1, 0) == 0) return;
    is_connecting_ = false;
    if (!connection_->flush()) lose();
  }

  void begin() {
    const auto address = plain_address(endpoint_);
    if (!address) return lose();
    is_connecting_ = true;
    if (const auto shortcut = shortcut_to(*address);
        shortcut && connect(*shortcut) && listener_is_trusted(connection_->fd()))
      return;
    if (!connect(*address)) lose();
  }

  // Whether it is connected now, or is about to be.
  bool connect(const PlainAddress& address) {
    const int fd = ::socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    connection_.emplace(fd, "DEALER");
    return ::connect(fd, address.get(), address.bytes) == 0 || errno == EINPROGRESS;
  }

  void lose() {
    connection_.reset();
    connect_at_ms_ = sys::monotonic_now_ms() + reconnect_ms_;
    reconnect_ms_ = std::min(2 * reconnect_ms_, kReconnectMsMax);
  }

  // Hears the other end out as long as it is not known. What it says beyond that is kept.
  void greet() {
    if (!connection_ || connection_->is_ready() || early_) return;
    early_ = take();
  }

  // The next message that is there.
  std::optional<std::string> take() {
    for (;;) {
      if (auto message = heard()) return message;
      if (!connection_ || is_connecting_) return std::nullopt;
      switch (connection_->read()) {
        case PlainConnection::Heard::something:
          break;
        case PlainConnection::Heard::nothing:
          return std::nullopt;
        case PlainConnection::Heard::end:
          hang_up();
          break;
      }
    }
  }

  // The next of those that were read.
  std::optional<std::string> heard() {
    if (early_) return std::exchange(early_, std::nullopt);
    while (connection_) {
      auto item = connection_->next();
      if (!item) break;
      switch (item->kind) {
        case ZmtpItem::Kind::ready:
          refusal_.reset();
          hung_up_n_ = 0;
          reconnect_ms_ = kReconnectMs;
          break;
        case ZmtpItem::Kind::message:
          return std::move(item->bytes);
        case ZmtpItem::Kind::foreign:
          refuse("it wants a key; give yours with --key FILE or KQ_KEY");
          break;
        case ZmtpItem::Kind::broken:
          refuse("what answers there is not a broker, or has other keys than this key was made for");
          break;
        case ZmtpItem::Kind::parts:
        case ZmtpItem::Kind::ping:
          break;
      }
    }
    return std::nullopt;
  }

  // A later broker there may be another one, so this asks again.
  void refuse(std::string why) {
    refusal_ = std::move(why);
    reconnect_ms_ = kReconnectMsMax;
    lose();
  }

  void hang_up() {
    // Once may be a broker that was just being stopped.
    if (!connection_->is_ready() && ++hung_up_n_ >= kHungUpMax) {
      refusal_ = "it hangs up before the handshake is over; if it wants a key, give yours with --key FILE or KQ_KEY";
    }
    lose();
  }

  enum class For { sending, receiving };
  enum class Woken { by_network, by_caller, by_signal };
  Woken wait(std::int64_t wait_ms, For what) {
    std::array<pollfd, 2> items{{{-1, 0, 0}, {what == For::receiving ? wake_fd_ : -1, POLLIN, 0}}};
    if (connection_) {
      // What could be received is no reason to wake who wants to send.
      const bool hears = !is_connecting_ && (what == For::receiving || !connection_->is_ready());
      items[0] = {connection_->fd(),
                  static_cast<short>((hears ? POLLIN : 0) | (connection_->has_unsent() ? POLLOUT : 0)), 0};
    } else {
      wait_ms = std::clamp<std::int64_t>(connect_at_ms_ - sys::monotonic_now_ms(), 0, wait_ms);
    }
    if (::poll(items.data(), items.size(), static_cast<int>(wait_ms)) < 0) return Woken::by_signal;
    return items[1].revents != 0 && items[0].revents == 0 ? Woken::by_caller : Woken::by_network;
  }

  const std::string endpoint_;
  std::optional<PlainConnection> connection_;
  bool is_connecting_ = false;
  std::int64_t connect_at_ms_ = 0;
  std::int64_t reconnect_ms_ = kReconnectMs;
  int wake_fd_ = -1;
  int hung_up_n_ = 0;
  std::optional<std::string> refusal_;
  std::optional<std::string> early_;  // came right behind the handshake, while nobody received
};

}  // namespace

Expected<std::unique_ptr<ClientLink>> connect_plain_client(const std::string& endpoint) {
  const auto address = plain_address(endpoint);
  if (!address && address.error().kind == ErrorKind::bad_input) return failure(address.error());
  return std::make_unique<PlainClientLink>(endpoint);
}

}  // namespace kq::net
