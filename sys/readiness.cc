#include "sys/readiness.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>

#include "sys/error_text.h"
#include "sys/fd.h"

namespace kq::sys {
namespace {

Expected<void> notify(const std::string& path) {
  constexpr std::string_view kReady = "READY=1";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return our_fault("NOTIFY_SOCKET=" + path + " is too long for a socket");
  path.copy(address.sun_path, path.size());
  if (path.starts_with('@')) address.sun_path[0] = '\0';  // an abstract socket
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (::sendto(socket.get(), kReady.data(), kReady.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
               length) < 0) {
    return our_fault(error_text("cannot send READY=1 to NOTIFY_SOCKET=" + path));
  }
  return {};
}

}  // namespace

Expected<void> report_ready(int fd, std::string_view text) {
  Expected<void> result;
  if (fd >= 0 && ::write(fd, text.data(), text.size()) < 0)
    result = our_fault(error_text("cannot write to --ready-fd " + std::to_string(fd)));
  if (fd > STDERR_FILENO) ::close(fd);  // so that the reader sees the end of the text
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || *path == '\0') return result;
  if (auto notified = notify(path); !notified) result = notified;
  ::unsetenv("NOTIFY_SOCKET");
  return result;
}

}  // namespace kq::sys
