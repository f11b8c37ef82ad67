#pragma once

#include <unistd.h>

#include <string>

namespace kq::net {

// Returns a loopback address that no other process uses, for example 127.64.12.7, so that tests that run at the same
// time can listen on the same port. The address contains the 22 bits of the process number (PID_MAX_LIMIT in
// linux/threads.h).
inline std::string own_host() {
  const auto pid = static_cast<unsigned>(::getpid());
  return "127." + std::to_string(64 + (pid >> 16 & 63)) + "." + std::to_string(pid >> 8 & 255) + "." +
         std::to_string(pid & 255);
}

}  // namespace kq::net
