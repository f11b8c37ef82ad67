#include "tests/bench/stream.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/measure.h"

namespace kq::bench {
namespace {

constexpr std::size_t kReadBytes = 64u << 10;

}  // namespace

Stream::Stream(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (fd_ < 0 || connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    give_up("no server on port " + std::to_string(port));
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Stream::~Stream() {
  close(fd_);
}

void Stream::flush() {
  for (std::string_view rest = out; !rest.empty();) {
    const ssize_t n = send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n <= 0) give_up("the server closed the connection");
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  out.clear();
}

std::string_view Stream::line() {
  for (std::size_t searched = at_;;) {
    const std::size_t end = in_.find("\r\n", searched);
    if (end != std::string::npos) {
      const std::string_view line(in_.data() + at_, end - at_);
      at_ = end + 2;
      return line;
    }
    const std::size_t unread = in_.size() - at_;
    fill();
    searched = at_ + (unread > 0 ? unread - 1 : 0);
  }
}

std::string_view Stream::bytes(std::size_t n) {
  while (!has_buffered(n)) fill();
  const std::string_view bytes(in_.data() + at_, n);
  at_ += n;
  return bytes;
}

bool Stream::readable(int wait_ms) const {
  if (has_buffered(1)) return true;
  pollfd item{fd_, POLLIN, 0};
  return poll(&item, 1, wait_ms) > 0;
}

void Stream::fill() {
  in_.erase(0, at_);
  at_ = 0;
  char buffer[kReadBytes];
  const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
  if (n <= 0) give_up("the server closed the connection");
  in_.append(buffer, static_cast<std::size_t>(n));
}

}  // namespace kq::bench
