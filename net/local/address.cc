#include "net/local/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace kq::net {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";
// In a user namespace, all users without a mapping have this id, possibly this process too (user_namespaces(7)).
constexpr uid_t kOverflowUid = 65534;

tl::unexpected<Error> refuse(const std::string& endpoint) {
  return bad_input(endpoint + ": tcp://HOST:PORT or ipc://PATH of a broker is needed");
}

struct FreeList {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

Expected<SocketAddress> of_tcp(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  std::string host = endpoint.substr(kTcp.size(), colon < kTcp.size() ? 0 : colon - kTcp.size());
  const std::string port = endpoint.substr(colon + 1);
  if (host.empty() || port.empty() || port.find_first_not_of("0123456789") != std::string::npos)
    return refuse(endpoint);
  const bool is_ipv6 = host.front() == '[' && host.back() == ']';
  if (is_ipv6) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_family = is_ipv6 ? AF_INET6 : AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int wrong = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  if (wrong != 0) return our_fault(endpoint + ": " + ::gai_strerror(wrong));
  const std::unique_ptr<addrinfo, FreeList> owner(list);
  SocketAddress address;
  std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
  address.bytes = list->ai_addrlen;
  return address;
}

// Returns the address of a path that fits into sun_path. A path that begins with @ names an abstract socket.
SocketAddress of_path(std::string_view path) {
  sockaddr_un unix_address{};
  unix_address.sun_family = AF_UNIX;
  std::memcpy(unix_address.sun_path, path.data(), path.size());
  const bool is_abstract = path.front() == '@';
  if (is_abstract) unix_address.sun_path[0] = '\0';
  SocketAddress address;
  std::memcpy(&address.storage, &unix_address, sizeof unix_address);
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (is_abstract ? 0 : 1));
  return address;
}

Expected<SocketAddress> of_ipc(const std::string& endpoint) {
  const std::string_view path = std::string_view(endpoint).substr(kIpc.size());
  if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) return refuse(endpoint);
  return of_path(path);
}

}  // namespace

Expected<SocketAddress> socket_address(const std::string& endpoint) {
  if (endpoint.starts_with(kTcp)) return of_tcp(endpoint);
  if (endpoint.starts_with(kIpc)) return of_ipc(endpoint);
  return refuse(endpoint);
}

std::string ipc_file_path(const std::string& endpoint) {
  if (!endpoint.starts_with(kIpc) || endpoint.starts_with("ipc://@")) return "";
  return endpoint.substr(kIpc.size());
}

std::optional<SocketAddress> abstract_address_of(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) {
    const auto& ip = reinterpret_cast<const sockaddr_in&>(address.storage);
    const std::uint32_t host = ntohl(ip.sin_addr.s_addr);
    if (host >> 24 != IN_LOOPBACKNET) return std::nullopt;
    return of_path("@kq/" + std::to_string(host) + ":" + std::to_string(ntohs(ip.sin_port)));
  }
  if (address.storage.ss_family == AF_INET6) {
    const auto& ip = reinterpret_cast<const sockaddr_in6&>(address.storage);
    if (!IN6_IS_ADDR_LOOPBACK(&ip.sin6_addr)) return std::nullopt;
    return of_path("@kq/::1:" + std::to_string(ntohs(ip.sin6_port)));
  }
  return std::nullopt;
}

bool is_peer_trusted(int fd) {
  ucred who{};
  socklen_t length = sizeof who;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return false;
  return who.uid == 0 || (who.uid == ::geteuid() && who.uid != kOverflowUid);
}

bool is_listener_trusted(const SocketAddress& address) {
  const int fd = ::socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const bool is_trusted = ::connect(fd, address.get(), address.bytes) == 0 && is_peer_trusted(fd);
  ::close(fd);
  return is_trusted;
}

PeerName peer_name_of(int fd) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  char text[INET6_ADDRSTRLEN] = "";
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return {"a connection already gone", ""};
  if (peer.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(peer).sin_addr, text, sizeof text);
  } else if (peer.ss_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr, text, sizeof text);
  } else if (ucred who{}; peer.ss_family == AF_UNIX) {
    length = sizeof who;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) != 0) return {"a connection already gone", ""};
    // The same form as ZeroMQ's Peer-Address property.
    return {"localhost:" + std::to_string(who.uid) + ":" + std::to_string(who.gid) + ":" + std::to_string(who.pid),
            "user " + std::to_string(who.uid)};
  }
  return {text, text};
}

}  // namespace kq::net
