// Owned descriptors, and passing them between processes of one worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace kq::sys {

// Closes its descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// Two ends of a SOCK_SEQPACKET socket, close-on-exec, with room for kPacketBytesMax in one packet.
inline constexpr std::size_t kPacketBytesMax = 160u << 10;
inline constexpr std::size_t kPacketFdsMax = 4;
Expected<std::pair<Fd, Fd>> packet_pair();

// Sends one packet with descriptors. Never raises SIGPIPE; an Error says the other end is gone.
Expected<void> send_packet(int socket, std::string_view bytes, std::span<const int> fds = {});

struct FdPacket {
  std::string bytes;
  std::vector<Fd> fds;
};
// The next packet; nothing on timeout. An Error when the other end has closed. timeout_ms < 0 waits for ever.
Expected<std::optional<FdPacket>> receive_packet(int socket, std::int64_t timeout_ms);

}  // namespace kq::sys
