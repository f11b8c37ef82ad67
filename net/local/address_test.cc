#include "net/local/address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace kq::net {
namespace {

TEST(SocketAddressTest, endpoints_become_socket_addresses) {
  const auto tcp = socket_address("tcp://localhost:5570");
  ASSERT_TRUE(tcp);
  const auto& four = reinterpret_cast<const sockaddr_in&>(tcp->storage);
  EXPECT_EQ(four.sin_family, AF_INET);
  EXPECT_EQ(ntohs(four.sin_port), 5570);
  EXPECT_EQ(ntohl(four.sin_addr.s_addr), INADDR_LOOPBACK);
  EXPECT_EQ(socket_address("tcp://[::1]:5570")->get()->sa_family, AF_INET6);
  const auto path = socket_address("ipc:///tmp/kq.sock");
  EXPECT_STREQ(reinterpret_cast<const sockaddr_un&>(path->storage).sun_path, "/tmp/kq.sock");
  EXPECT_EQ(reinterpret_cast<const sockaddr_un&>(socket_address("ipc://@kq")->storage).sun_path[0], '\0');
}

TEST(SocketAddressTest, invalid_endpoints_are_refused) {
  for (const char* endpoint : {"", "http://here", "tcp://", "tcp://here", "tcp://:5570",
                               "tcp://127.0.0.1:", "tcp://127.0.0.1:http", "ipc://"}) {
    const auto address = socket_address(endpoint);
    ASSERT_FALSE(address) << endpoint;
    EXPECT_EQ(address.error().message, std::string(endpoint) + ": tcp://HOST:PORT or ipc://PATH of a broker is needed");
  }
  EXPECT_EQ(socket_address("ipc://" + std::string(200, 'x')).error().kind, ErrorKind::bad_input);
}

TEST(SocketAddressTest, ipc_file_path_is_empty_for_abstract_and_tcp_endpoints) {
  EXPECT_EQ(ipc_file_path("ipc:///tmp/kq.sock"), "/tmp/kq.sock");
  EXPECT_EQ(ipc_file_path("ipc://@kq"), "");
  EXPECT_EQ(ipc_file_path("tcp://127.0.0.1:5570"), "");
}

TEST(SocketAddressTest, each_loopback_address_has_its_own_abstract_socket) {
  const auto name = [](const char* endpoint) -> std::string {
    const auto abstract = abstract_address_of(socket_address(endpoint).value());
    if (!abstract) return "none";
    return {reinterpret_cast<const sockaddr_un&>(abstract->storage).sun_path,
            abstract->bytes - offsetof(sockaddr_un, sun_path)};
  };
  EXPECT_EQ(name("tcp://127.0.0.1:5570"), std::string("\0kq/2130706433:5570", 19));
  EXPECT_EQ(name("tcp://localhost:5570"), name("tcp://127.0.0.1:5570"));
  EXPECT_EQ(name("tcp://127.0.0.2:5571"), std::string("\0kq/2130706434:5571", 19));
  EXPECT_EQ(name("tcp://[::1]:5570"), std::string("\0kq/::1:5570", 12));
  for (const char* other :
       {"tcp://192.0.2.1:5570", "tcp://0.0.0.0:5570", "tcp://[2001:db8::1]:5570", "ipc:///tmp/kq.sock"})
    EXPECT_EQ(name(other), "none");
}

TEST(SocketAddressTest, a_listener_of_the_same_user_is_trusted_and_a_tcp_peer_is_not) {
  // The name contains the process id, because other tests may run at the same time.
  const auto abstract = socket_address("ipc://@kq-test." + std::to_string(::getpid()));
  ASSERT_TRUE(abstract);
  const int listening = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int connected = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int over_tcp = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listening, abstract->get(), abstract->bytes), 0);
  ASSERT_EQ(::listen(listening, 1), 0);
  ASSERT_EQ(::connect(connected, abstract->get(), abstract->bytes), 0);
  EXPECT_TRUE(is_peer_trusted(connected));
  EXPECT_FALSE(is_peer_trusted(over_tcp));
  EXPECT_TRUE(is_listener_trusted(*abstract));
  // In a user namespace without mapped users, all users have the overflow id, so no listener is trusted.
  const int child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWUSER) != 0 ? 2 : is_peer_trusted(connected) ? 1 : 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_NE(status, 1 << 8) << "trusted";
  for (const int fd : {listening, connected, over_tcp}) ::close(fd);
  EXPECT_FALSE(is_listener_trusted(*abstract)) << "no process listens";
}

TEST(SocketAddressTest, the_peer_of_a_unix_socket_is_named_by_user_group_and_process) {
  int fds[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const std::string own =
      std::to_string(::getuid()) + ":" + std::to_string(::getgid()) + ":" + std::to_string(::getpid());
  EXPECT_EQ(peer_name_of(fds[0]).text, "localhost:" + own);
  EXPECT_EQ(peer_name_of(fds[0]).account, "user " + std::to_string(::getuid()));
  for (const int fd : fds) ::close(fd);
  EXPECT_EQ(peer_name_of(fds[0]).text, "a connection already gone");
}

}  // namespace
}  // namespace kq::net
