// Converts an endpoint to the socket address that the system needs to bind or connect.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

#include "core/base/error.h"

namespace kq::net {

// A socket address of any family.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Returns the address of tcp://HOST:PORT or ipc://PATH, and resolves the host name. Returns bad_input for any other
// text, and our_fault if the host name cannot be resolved now: "ENDPOINT: REASON".
Expected<SocketAddress> socket_address(const std::string& endpoint);

// Returns the path of an ipc:// endpoint, or an empty text for other endpoints and for abstract sockets (ipc://@NAME).
std::string ipc_file_path(const std::string& endpoint);

// Returns the address of the abstract Unix socket that stands for a loopback TCP address, or an empty optional if the
// address is no loopback address. A message over the abstract socket costs about half as much as one over TCP. Like the
// loopback address, the abstract socket exists only in its network namespace. Example: tcp://127.0.0.1:5570 has the
// abstract socket "@kq/2130706433:5570".
std::optional<SocketAddress> abstract_address_of(const SocketAddress& address);

// Returns whether the listening process at the other end of this connected Unix socket runs as this user or as root.
// Callers check it because any user may bind an unused abstract name.
bool is_peer_trusted(int fd);
// Connects to a Unix address and returns the same for the process that listens there; false if no process listens.
bool is_listener_trusted(const SocketAddress& address);

// Names the peer of a connection.
struct PeerName {
  std::string text;     // for the log: the machine's address, or user, group and process for a Unix socket
  std::string account;  // the limits of connections count the connections with the same account together
};
// Returns the name of the peer of this socket. The account is empty if the connection is already gone.
PeerName peer_name_of(int fd);

}  // namespace kq::net
