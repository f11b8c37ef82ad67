#include "sys/fd.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/check.h"
#include "sys/error_text.h"

namespace kq::sys {
namespace {

std::string system_error(const char* what) {
  return error_text(what);
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Expected<std::pair<Fd, Fd>> packet_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return our_fault(system_error("socketpair"));
  const int bytes = static_cast<int>(kPacketBytesMax);
  for (int end : ends) ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  return std::pair<Fd, Fd>(Fd(ends[0]), Fd(ends[1]));
}

Expected<void> send_packet(int socket, std::string_view bytes, std::span<const int> fds) {
  KQ_CHECK(bytes.size() <= kPacketBytesMax && fds.size() <= kPacketFdsMax);
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kPacketFdsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return our_fault(system_error("sendmsg to a process of this worker"));
  }
  return {};
}

Expected<std::optional<FdPacket>> receive_packet(int socket, std::int64_t timeout_ms) {
  pollfd waiting{socket, POLLIN, 0};
  const int ready = ::poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(timeout_ms, -1, 1'000'000'000)));
  if (ready == 0 || (ready < 0 && errno == EINTR)) return std::optional<FdPacket>();
  if (ready < 0) return our_fault(system_error("poll"));

  FdPacket packet;
  packet.bytes.resize(kPacketBytesMax);
  iovec part{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kPacketFdsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return std::optional<FdPacket>();
  if (size < 0) return our_fault(system_error("recvmsg from a process of this worker"));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < n; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      packet.fds.emplace_back(fd);
    }
  }
  if (size == 0) return our_fault("a process of this worker closed its socket");
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    return our_fault("a process of this worker sent too large a packet");
  packet.bytes.resize(static_cast<std::size_t>(size));
  return std::optional<FdPacket>(std::move(packet));
}

}  // namespace kq::sys
