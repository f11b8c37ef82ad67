#include "tools/stack/child_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tools/stack/fake_programs.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

class ProcessTest : public ::testing::Test {
 protected:
  Expected<Process> shell(const std::string& script) {
    return Process::start({.words = {"/bin/sh", "-c", script}, .log = log()});
  }
  std::string log() const { return folder_.file("log"); }

  TestFolder folder_;
};

TEST_F(ProcessTest, its_end_is_described) {
  auto process = shell("echo some words; exit 3");
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(end_of(*process), "exit code 3");
  EXPECT_EQ(process->log_tail(), "\n    some words");
}

TEST_F(ProcessTest, the_log_tail_is_that_of_this_process) {
  auto first = shell("echo first");
  end_of(*first);
  auto second = shell("seq 1 100; printf '\\033[31mred'");
  end_of(*second);
  EXPECT_THAT(second->log_tail(), HasSubstr("\n    100\n    \\x1b[31mred"));
  EXPECT_EQ(second->log_tail().find("first"), std::string::npos);
}

TEST_F(ProcessTest, stop_sends_sigterm_first) {
  auto process = shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(wait_for_text(log(), "ready"));
  process->stop(60'000, sleep_uninterrupted);
  EXPECT_EQ(process->ended(), "exit code 7");
}

TEST_F(ProcessTest, stop_sends_sigterm_twice) {
  auto process = shell("trap 'trap \"exit 8\" TERM; echo again' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(wait_for_text(log(), "ready"));
  // Two signals that arrive before the shell handles the first one count as one.
  process->stop(60'000, [&](std::int64_t ms) { return sleep_uninterrupted(ms) || !wait_for_text(log(), "again"); });
  EXPECT_EQ(process->ended(), "exit code 8");
}

TEST_F(ProcessTest, stop_kills_a_process_that_ignores_sigterm) {
  auto process = shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(wait_for_text(log(), "ready"));
  process->stop(60'000, [](std::int64_t) { return true; });
  EXPECT_EQ(process->ended(), "signal 9 (Killed)");
}

TEST_F(ProcessTest, a_missing_program_is_an_error) {
  const auto process = Process::start({.words = {folder_.file("kq-gone")}, .log = log()});
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message, HasSubstr("kq-gone: No such file"));
  EXPECT_THAT(process.error().message, HasSubstr("what brings it: unpack the tree again"));
}

TEST_F(ProcessTest, signals_that_the_parent_blocks_reach_the_child) {
  StopSignals signals;
  auto process = shell("kill -TERM $$; echo survived");
  EXPECT_EQ(end_of(*process), "signal 15 (Terminated)");
  StopSignals::give_back();
}

// The middle process is killed; the kernel then sends SIGINT to the child that the middle process has started.
TEST_F(ProcessTest, ends_when_its_parent_dies) {
  const pid_t middle = ::fork();
  if (middle == 0) {
    auto process = shell("trap 'echo told; exit 0' INT; echo ready; while :; do sleep 0.01; done");
    wait_for_text(log(), "ready");
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_TRUE(wait_for_text(log(), "told"));
  EXPECT_EQ(::waitpid(middle, nullptr, 0), middle);
}

}  // namespace
}  // namespace kq::tools
