// Converts an endpoint to the socket address that the system needs to bind or connect.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

#include "core/base/error.h"

namespace kq::net {

struct PlainAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// tcp://HOST:PORT or ipc://PATH; a host is looked up. Bad input: it is neither. Our fault: there is no such host now.
Expected<PlainAddress> plain_address(const std::string& endpoint);

// The path of an ipc:// endpoint that is a file, else nothing.
std::string path_of(const std::string& endpoint);

// A second way to a loopback address, past TCP, which costs both ends twice as much: an abstract socket named after it.
// Like the address it is seen in its network namespace only. Nothing: the address is no loopback address.
std::optional<PlainAddress> shortcut_to(const PlainAddress& address);

// Whether whoever listens at the other end is this user or root: anybody may take a name that nobody has.
bool listener_is_trusted(int fd);
// The same of whoever listens at a Unix address; nobody is not trusted.
bool is_trusted_listener_at(const PlainAddress& address);

// The machine, or for a path the process, at the other end: for people. The second is what its connections are counted
// by.
struct PeerName {
  std::string text;
  std::string account;
};
PeerName peer_of(int fd);

}  // namespace kq::net
