#include "net/plain_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "core/limits.h"
#include "net/server_limits.h"

namespace kq {
namespace {

constexpr std::size_t kReadBytes = 256u << 10;  // at once: a batch of jobs, and no more than a cache holds

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

PlainConnection::PlainConnection(int fd, std::string_view socket_type) : fd_(fd), reader_(kMessageBytesMax) {
  const int on = 1;
  (void)::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails on a path, which has no delay
  unsent_.push_back(zmtp_opening(socket_type));
}

PlainConnection::~PlainConnection() {
  ::close(fd_);
}

PlainConnection::Heard PlainConnection::read() {
  thread_local const auto room = std::make_unique<std::array<char, kReadBytes>>();
  const ssize_t n = ::recv(fd_, room->data(), room->size(), MSG_DONTWAIT);
  if (n > 0) {
    has_heard_ = true;
    reader_.put({room->data(), static_cast<std::size_t>(n)});
    return Heard::something;
  }
  return n < 0 && would_block() ? Heard::nothing : Heard::end;
}

std::optional<ZmtpItem> PlainConnection::next() {
  while (auto item = reader_.next()) {
    if (item->kind == ZmtpItem::Kind::ready) is_ready_ = true;
    if (item->kind != ZmtpItem::Kind::ping) return item;
    if (unsent_.size() < kLinkMessagesMax) (void)write(item->bytes, "");
  }
  return std::nullopt;
}

bool PlainConnection::send(std::string_view message) {
  if (!is_ready_ || is_lost_ || unsent_.size() >= kLinkMessagesMax) return false;
  const ZmtpHeader header = zmtp_header(message.size());
  return write({header.bytes.data(), header.n}, message);
}

// Behind what waits, or at once.
bool PlainConnection::write(std::string_view head, std::string_view body) {
  std::size_t n = 0;
  if (unsent_.empty()) {
    std::array<iovec, 2> pieces{{{const_cast<char*>(head.data()), head.size()}, {const_cast<char*>(body.data()), body.size()}}};
    const msghdr both{.msg_name = nullptr, .msg_namelen = 0, .msg_iov = pieces.data(), .msg_iovlen = pieces.size(), .msg_control = nullptr, .msg_controllen = 0, .msg_flags = 0};
    const ssize_t sent = ::sendmsg(fd_, &both, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && !would_block()) {
      is_lost_ = true;
      return false;
    }
    n = sent < 0 ? 0 : static_cast<std::size_t>(sent);
    if (n == head.size() + body.size()) return true;
  }
  std::string rest(head.substr(std::min(n, head.size())));
  rest.append(body.substr(n - std::min(n, head.size())));
  unsent_.push_back(std::move(rest));
  return true;
}

bool PlainConnection::flush() {
  while (!unsent_.empty()) {
    const std::string_view rest = std::string_view(unsent_.front()).substr(sent_of_first_);
    const ssize_t sent = ::send(fd_, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (would_block()) return true;
      is_lost_ = true;
      return false;
    }
    sent_of_first_ += static_cast<std::size_t>(sent);
    if (static_cast<std::size_t>(sent) < rest.size()) return true;
    unsent_.pop_front();
    sent_of_first_ = 0;
  }
  return true;
}

}  // namespace kq
