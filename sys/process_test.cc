#include "sys/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "sys/fd.h"

namespace kq::sys {
namespace {

TEST(Process, gets_its_socket_at_descriptor_3_and_the_added_environment) {
  auto pair = packet_pair();
  ASSERT_TRUE(pair);
  const auto pid = start_process({.argv = {"sh", "-c", "printf %s \"$KQ_WORD\" >&3"},
                                  .environment = {{"KQ_WORD", "hello"}},
                                  .socket = pair->second.get()});
  ASSERT_TRUE(pid);
  const auto packet = receive_packet(pair->first.get(), 60'000);
  ASSERT_TRUE(packet && *packet);
  EXPECT_EQ((*packet)->bytes, "hello");
  end_process(*pid);
}

TEST(Process, inherits_nothing_above_its_socket) {
  auto kept = packet_pair();
  auto pair = packet_pair();
  ASSERT_TRUE(kept && pair);
  const auto pid = start_process(
      {.argv = {"sh", "-c", "ls /proc/self/fd | wc -w >&3"}, .environment = {}, .socket = pair->second.get()});
  ASSERT_TRUE(pid);
  const auto packet = receive_packet(pair->first.get(), 60'000);
  ASSERT_TRUE(packet && *packet);
  EXPECT_LE(std::stoi((*packet)->bytes), 5);  // 0 to 3 and the descriptor that ls reads the directory with
  end_process(*pid);
}

TEST(Process, ignores_the_signals_that_drain_a_worker_where_wanted) {
  for (const bool ignores : {false, true}) {
    const auto pid =
        start_process({.argv = {"sh", "-c", "kill -TERM $$; kill -USR1 $$; exit 7"}, .ignores_drain_signals = ignores});
    ASSERT_TRUE(pid);
    int status = 0;
    ASSERT_EQ(::waitpid(*pid, &status, 0), *pid);
    if (ignores) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    } else {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    }
  }
}

TEST(Process, keeps_one_descriptor_under_its_number_and_writes_to_the_given_output) {
  int output[2], kept[2];
  ASSERT_EQ(::pipe2(output, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(kept, O_CLOEXEC), 0);
  const auto pid = start_process(
      {.argv = {"sh", "-c", "ls /proc/self/fd | tr '\\n' ' '; echo done >/proc/self/fd/$0", std::to_string(kept[1])},
       .kept_fd = kept[1],
       .output = output[1],
       .leads = ProcessOptions::Leads::process_group});
  ASSERT_TRUE(pid);
  for (const int end : {output[1], kept[1]}) ::close(end);
  char text[64] = "";
  EXPECT_EQ(::read(kept[0], text, sizeof text), 5) << "the program wrote \"done\" to the kept descriptor";
  const ssize_t size = ::read(output[0], text, sizeof text);
  ASSERT_GT(size, 0);
  // The list has 0 to 2, the kept descriptor and the one that ls reads the directory with.
  const std::string_view list(text, static_cast<std::size_t>(size));
  EXPECT_NE(list.find(std::to_string(kept[1])), std::string_view::npos) << list;
  EXPECT_EQ(std::ranges::count(list, ' '), 5) << list;
  end_process(*pid);
  for (const int end : {output[0], kept[0]}) ::close(end);
}

TEST(Process, a_program_that_cannot_be_executed_says_why_and_ends_with_127) {
  int output[2];
  ASSERT_EQ(::pipe2(output, O_CLOEXEC), 0);
  const auto pid = start_process({.argv = {"/nonsense/program"}, .output = output[1]});
  ASSERT_TRUE(pid);
  ::close(output[1]);
  std::string text;
  for (char piece[64];;) {
    const ssize_t size = ::read(output[0], piece, sizeof piece);
    if (size <= 0) break;
    text.append(piece, static_cast<std::size_t>(size));
  }
  ::close(output[0]);
  EXPECT_EQ(text, "cannot start /nonsense/program: No such file or directory\n");
  int status = 0;
  EXPECT_EQ(::waitpid(*pid, &status, 0), *pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

TEST(Process, end_process_kills_and_reaps_a_program_that_runs) {
  const auto pid = start_process({.argv = {"sleep", "1000"}});
  ASSERT_TRUE(pid);
  end_process(*pid);
  EXPECT_NE(::kill(*pid, 0), 0);
}

}  // namespace
}  // namespace kq::sys
