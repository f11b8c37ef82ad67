#include "sys/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "sys/fd.h"

namespace kq::sys {
namespace {

std::string read_some(int fd) {
  std::array<char, 64> bytes{};
  const ssize_t count = ::read(fd, bytes.data(), bytes.size());
  return std::string(bytes.data(), count < 0 ? 0 : static_cast<std::size_t>(count));
}

TEST(Readiness, the_text_and_the_end_reach_the_reader_of_the_descriptor) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd reader(ends[0]);
  EXPECT_TRUE(report_ready(ends[1], "ready\n"));
  EXPECT_EQ(read_some(reader.get()), "ready\n");
  EXPECT_EQ(read_some(reader.get()), "");
}

TEST(Readiness, systemd_is_told_once) {
  const std::string path = testing::TempDir() + "kq-notify-" + std::to_string(::getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  EXPECT_TRUE(report_ready(-1, ""));
  EXPECT_EQ(read_some(socket.get()), "READY=1");
  EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr);
  std::filesystem::remove(path);
}

TEST(Readiness, a_socket_without_a_reader_is_an_error) {
  ::setenv("NOTIFY_SOCKET", "/nonsense/socket", 1);
  const auto told = report_ready(-1, "");
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, testing::HasSubstr("NOTIFY_SOCKET=/nonsense/socket: No such file"));
}

}  // namespace
}  // namespace kq::sys
