#include "net/local/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <utility>

#include "core/limits.h"
#include "net/limits/server_limits.h"

namespace kq::net {
namespace {

constexpr std::size_t kCopiedBytes = 4u << 10;  // a shorter message is copied after its header and sent as one piece
constexpr std::size_t kPiecesAtOnce = 16;
// The send buffer requested for Unix sockets; the system may grant less. TCP adapts its buffer by itself.
constexpr int kSendBytes = 4 << 20;
constexpr std::size_t kReadBytes = 256u << 10;  // per read: enough for a batch of jobs, and fits into a CPU cache

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

ssize_t send_pieces(int fd, std::span<iovec> pieces) {
  msghdr all{};
  all.msg_iov = pieces.data();
  all.msg_iovlen = pieces.size();
  return ::sendmsg(fd, &all, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

ZmtpConnection::ZmtpConnection(int fd, std::string_view socket_type, std::size_t* all_unsent_bytes)
    : fd_(fd), reader_(kMessageBytesMax), all_unsent_bytes_(all_unsent_bytes) {
  const int on = 1;
  const bool is_tcp =
      ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0;  // fails for Unix sockets, which do not delay
  if (!is_tcp && ::setsockopt(fd_, SOL_SOCKET, SO_SNDBUFFORCE, &kSendBytes, sizeof kSendBytes) != 0) {
    (void)::setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &kSendBytes, sizeof kSendBytes);
  }
  add_unsent(zmtp_handshake(socket_type));
}

ZmtpConnection::~ZmtpConnection() {
  subtract_unsent(unsent_bytes_);
  ::close(fd_);
}

ZmtpConnection::ReadResult ZmtpConnection::read() {
  thread_local const auto buffer = std::make_unique_for_overwrite<std::array<char, kReadBytes>>();
  const ssize_t n = ::recv(fd_, buffer->data(), buffer->size(), MSG_DONTWAIT);
  if (n > 0) {
    has_received_ = true;
    reader_.put({buffer->data(), static_cast<std::size_t>(n)});
    return ReadResult::some;
  }
  return n < 0 && would_block() ? ReadResult::none : ReadResult::end_of_stream;
}

std::optional<ZmtpItem> ZmtpConnection::next() {
  while (auto item = reader_.next()) {
    if (item->kind == ZmtpItem::Kind::ready) is_ready_ = true;
    if (item->kind != ZmtpItem::Kind::ping) return item;
    if (unsent_.size() < kLinkMessagesMax) (void)write(item->bytes, "");
  }
  return std::nullopt;
}

bool ZmtpConnection::may_send() const {
  if (!is_ready_ || is_lost_) return false;
  const bool is_over_limit =
      unsent_bytes_ > kLinkBytesMax || (all_unsent_bytes_ != nullptr && *all_unsent_bytes_ > kLinkBytesTotalMax);
  return unsent_.empty() || (unsent_.size() < kLinkMessagesMax && !is_over_limit);
}

void ZmtpConnection::add_unsent(std::string piece) {
  unsent_bytes_ += piece.size();
  if (all_unsent_bytes_ != nullptr) *all_unsent_bytes_ += piece.size();
  unsent_.push_back(std::move(piece));
}

void ZmtpConnection::subtract_unsent(std::size_t bytes) {
  unsent_bytes_ -= bytes;
  if (all_unsent_bytes_ != nullptr) *all_unsent_bytes_ -= bytes;
}

bool ZmtpConnection::send(std::string_view message) {
  if (!may_send()) return false;
  const ZmtpHeader header = zmtp_header(message.size());
  return write({header.bytes.data(), header.size}, message);
}

bool ZmtpConnection::send_later(std::string message) {
  if (!may_send()) return false;
  const ZmtpHeader header = zmtp_header(message.size());
  std::string head(header.bytes.data(), header.size);
  if (message.size() < kCopiedBytes) {
    add_unsent(std::move(head.append(message)));
    return true;
  }
  add_unsent(std::move(head));
  add_unsent(std::move(message));
  return true;
}

// Sends head and body at once if the queue is empty, and queues the unsent rest.
bool ZmtpConnection::write(std::string_view head, std::string_view body) {
  std::size_t n = 0;
  if (unsent_.empty()) {
    std::array<iovec, 2> pieces{
        {{const_cast<char*>(head.data()), head.size()}, {const_cast<char*>(body.data()), body.size()}}};
    const ssize_t sent = send_pieces(fd_, pieces);
    if (sent < 0 && !would_block()) {
      is_lost_ = true;
      return false;
    }
    n = sent < 0 ? 0 : static_cast<std::size_t>(sent);
    if (n == head.size() + body.size()) return true;
  }
  std::string rest(head.substr(std::min(n, head.size())));
  rest.append(body.substr(n - std::min(n, head.size())));
  add_unsent(std::move(rest));
  return true;
}

bool ZmtpConnection::flush() {
  while (!unsent_.empty()) {
    std::array<iovec, kPiecesAtOnce> pieces{};
    std::size_t n = 0;
    std::size_t wanted = 0;
    for (; n < std::min(unsent_.size(), kPiecesAtOnce); ++n) {
      const std::size_t sent_bytes = n == 0 ? sent_of_first_ : 0;
      pieces[n] = {unsent_[n].data() + sent_bytes, unsent_[n].size() - sent_bytes};
      wanted += pieces[n].iov_len;
    }
    const ssize_t result = send_pieces(fd_, {pieces.data(), n});
    if (result < 0) {
      is_lost_ = !would_block();
      return !is_lost_;
    }
    auto sent = static_cast<std::size_t>(result);
    wanted -= sent;
    for (sent += std::exchange(sent_of_first_, 0); !unsent_.empty() && sent >= unsent_.front().size();
         unsent_.pop_front()) {
      sent -= unsent_.front().size();
      subtract_unsent(unsent_.front().size());
    }
    sent_of_first_ = sent;
    if (wanted > 0) return true;
  }
  return true;
}

}  // namespace kq::net
