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
  for (const char* endpoint : {"", "http://here", "tcp://", "tcp://here", "tcp://:5570",
                               "tcp://127.0.0.1:", "tcp://127.0.0.1:http", "ipc://"}) {
    const auto address = plain_address(endpoint);
    ASSERT_FALSE(address) << endpoint;
    EXPECT_EQ(address.error().message, std::string(endpoint) + ": tcp://HOST:PORT or ipc://PATH of a broker is needed");
  }
  EXPECT_EQ(plain_address("ipc://" + std::string(200, 'x')).error().kind, ErrorKind::bad_input);
}

TEST(PlainAddress, paths_that_are_files_are_known) {
  EXPECT_EQ(path_of("ipc:///tmp/kq.sock"), "/tmp/kq.sock");
  EXPECT_EQ(path_of("ipc://@kq"), "");
  EXPECT_EQ(path_of("tcp://127.0.0.1:5570"), "");
}

TEST(PlainAddress, loopback_addresses_have_shortcuts_of_their_own) {
  const auto name = [](const char* endpoint) -> std::string {
    const auto shortcut = shortcut_to(plain_address(endpoint).value());
    if (!shortcut) return "none";
    return {reinterpret_cast<const sockaddr_un&>(shortcut->storage).sun_path,
            shortcut->bytes - offsetof(sockaddr_un, sun_path)};
  };
  EXPECT_EQ(name("tcp://127.0.0.1:5570"), std::string("\0kq/2130706433:5570", 19));
  EXPECT_EQ(name("tcp://localhost:5570"), name("tcp://127.0.0.1:5570"));
  EXPECT_EQ(name("tcp://127.0.0.2:5571"), std::string("\0kq/2130706434:5571", 19));
  EXPECT_EQ(name("tcp://[::1]:5570"), std::string("\0kq/::1:5570", 12));
  for (const char* far :
       {"tcp://192.0.2.1:5570", "tcp://0.0.0.0:5570", "tcp://[2001:db8::1]:5570", "ipc:///tmp/kq.sock"})
    EXPECT_EQ(name(far), "none");
}

TEST(PlainAddress, a_listener_of_the_same_user_is_trusted_and_one_over_tcp_is_not_known) {
  // A name of this process: other tests run at the same time.
  const auto shortcut = plain_address("ipc://@kq-test." + std::to_string(::getpid()));
  ASSERT_TRUE(shortcut);
  const int listening = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int connected = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int over_tcp = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listening, shortcut->get(), shortcut->bytes), 0);
  ASSERT_EQ(::listen(listening, 1), 0);
  ASSERT_EQ(::connect(connected, shortcut->get(), shortcut->bytes), 0);
  EXPECT_TRUE(listener_is_trusted(connected));
  EXPECT_FALSE(listener_is_trusted(over_tcp));
  EXPECT_TRUE(is_trusted_listener_at(*shortcut));
  // In a user namespace without users everybody is the same nobody, a stranger as well.
  const int child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWUSER) != 0 ? 2 : listener_is_trusted(connected) ? 1 : 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_NE(status, 1 << 8) << "trusted";
  for (const int fd : {listening, connected, over_tcp}) ::close(fd);
  EXPECT_FALSE(is_trusted_listener_at(*shortcut)) << "nobody";
}

TEST(PlainAddress, the_process_at_the_other_end_is_named) {
  int fds[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  const std::string own =
      std::to_string(::getuid()) + ":" + std::to_string(::getgid()) + ":" + std::to_string(::getpid());
  EXPECT_EQ(peer_of(fds[0]).text, "localhost:" + own);
  EXPECT_EQ(peer_of(fds[0]).account, "user " + std::to_string(::getuid()));
  for (const int fd : fds) ::close(fd);
  EXPECT_EQ(peer_of(fds[0]).text, "a connection already gone");
}

}  // namespace
}  // namespace kq::net
