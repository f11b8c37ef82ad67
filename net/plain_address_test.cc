#include "net/plain_address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

namespace kq {
namespace {

TEST(PlainAddress, endpoints_become_what_the_system_wants) {
  const auto tcp = plain_address("tcp://localhost:5570");
  ASSERT_TRUE(tcp);
  const auto& four = reinterpret_cast<const sockaddr_in&>(tcp->storage);
  EXPECT_EQ(four.sin_family, AF_INET);
  EXPECT_EQ(ntohs(four.sin_port), 5570);
  EXPECT_EQ(ntohl(four.sin_addr.s_addr), INADDR_LOOPBACK);
  EXPECT_EQ(plain_address("tcp://[::1]:5570")->get()->sa_family, AF_INET6);
  const auto path = plain_address("ipc:///tmp/kq.sock");
  EXPECT_STREQ(reinterpret_cast<const sockaddr_un&>(path->storage).sun_path, "/tmp/kq.sock");
  EXPECT_EQ(reinterpret_cast<const sockaddr_un&>(plain_address("ipc://@kq")->storage).sun_path[0], '\0');
}

TEST(PlainAddress, what_is_none_is_refused) {
  for (const char* endpoint : {"", "http://here", "tcp://", "tcp://here", "tcp://:5570", "tcp://127.0.0.1:", "tcp://127.0.0.1:http", "ipc://"}) {
    const auto address = plain_address(endpoint);
    ASSERT_FALSE(address) << endpoint;
    EXPECT_EQ(address.error().message, std::string(endpoint) + ": tcp://HOST:PORT or ipc://PATH of a broker is needed");
  }
  EXPECT_EQ(plain_address("ipc://" + std::string(200, 'x')).error().code, ExitCode::bad_input);
}

TEST(PlainAddress, paths_that_are_files_are_known) {
  EXPECT_EQ(path_of("ipc:///tmp/kq.sock"), "/tmp/kq.sock");
  EXPECT_EQ(path_of("ipc://@kq"), "");
  EXPECT_EQ(path_of("tcp://127.0.0.1:5570"), "");
}

TEST(PlainAddress, the_process_at_the_other_end_is_named) {
  int fds[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const std::string own = std::to_string(::getuid()) + ":" + std::to_string(::getgid()) + ":" + std::to_string(::getpid());
  EXPECT_EQ(peer_of(fds[0]).text, "localhost:" + own);
  EXPECT_EQ(peer_of(fds[0]).account, "user " + std::to_string(::getuid()));
  for (const int fd : fds) ::close(fd);
  EXPECT_EQ(peer_of(fds[0]).text, "a connection already gone");
}

}  // namespace
}  // namespace kq
