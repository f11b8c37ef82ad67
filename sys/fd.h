// Owns file descriptors, and passes them between the processes of one worker.
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

// Owns one file descriptor and closes it on destruction.
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

// Returns the two ends of a SOCK_SEQPACKET socket. Both are close-on-exec and have a send buffer for one packet of
// kPacketBytesMax.
inline constexpr std::size_t kPacketBytesMax = 160u << 10;
inline constexpr std::size_t kPacketFdsMax = 4;
Expected<std::pair<Fd, Fd>> packet_pair();

// Sends one packet with descriptors. Never raises SIGPIPE. Returns an Error if the other end is closed.
Expected<void> send_packet(int socket, std::string_view bytes, std::span<const int> fds = {});

// One received packet: its bytes and the descriptors that came with it.
struct FdPacket {
  std::string bytes;
  std::vector<Fd> fds;
};
// Waits at most `timeout_ms` for the next packet; a negative timeout waits without limit. Returns an empty optional on
// timeout, and an Error if the other end is closed.
Expected<std::optional<FdPacket>> receive_packet(int socket, std::int64_t timeout_ms);

}  // namespace kq::sys
