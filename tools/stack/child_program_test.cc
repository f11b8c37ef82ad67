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

TEST_F(ProcessTest, its_end_is_told_in_words) {
  auto process = shell("echo some words; exit 3");
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(end_of(*process), "exit code 3");
  EXPECT_EQ(process->log_tail(), "\n    some words");
}

TEST_F(ProcessTest, last_words_are_those_of_this_start) {
  auto first = shell("echo first");
  end_of(*first);
  auto second = shell("seq 1 100; printf '\\033[31mred'");
  end_of(*second);
  EXPECT_THAT(second->log_tail(), HasSubstr("\n    100\n    \\x1b[31mred"));
  EXPECT_EQ(second->log_tail().find("first"), std::string::npos);
}

TEST_F(ProcessTest, stop_asks_first) {
  auto process = shell("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(wait_for_text(log(), "ready"));
  process->stop(10'000, sleep_uninterrupted);
  EXPECT_EQ(process->ended(), "exit code 7");
}

TEST_F(ProcessTest, stop_asks_twice) {
  auto process = shell("trap 'trap \"exit 8\" TERM' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(wait_for_text(log(), "ready"));
  process->stop(10'000, sleep_uninterrupted);
  EXPECT_EQ(process->ended(), "exit code 8");
}

TEST_F(ProcessTest, stop_kills_what_does_not_listen) {
  auto process = shell("trap '' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(wait_for_text(log(), "ready"));
  process->stop(60'000, [](std::int64_t) { return true; });
  EXPECT_EQ(process->ended(), "signal 9 (Killed)");
}

TEST_F(ProcessTest, a_program_that_is_not_there_is_an_error) {
  const auto process = Process::start({.words = {folder_.file("kq-gone")}, .log = log()});
  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message, HasSubstr("kq-gone: No such file"));
}

TEST_F(ProcessTest, the_signals_we_hold_back_reach_it) {
  StopSignals signals;
  auto process = shell("kill -TERM $$; echo survived");
  EXPECT_EQ(end_of(*process), "signal 15 (Terminated)");
  StopSignals::give_back();
}

// The middle process dies without a word; what it had started hears of it.
TEST_F(ProcessTest, ends_with_the_one_that_started_it) {
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
