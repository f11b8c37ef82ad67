#include "tools/fleet/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

TEST(command, output_has_stdout_and_stderr_and_the_exit_code) {
  const auto end = run_command({"sh", "-c", "echo $WORD; echo problem >&2; exit 3"}, {{"WORD", "hello"}});
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->exit_code, 3);
  EXPECT_EQ(end->output, "hello\nproblem\n");
}

TEST(command, program_that_does_not_exist_ends_with_127_and_the_reason) {
  const auto end = run_command({"kq-no-such-program"}, {});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 127);
  EXPECT_THAT(end->output, HasSubstr("cannot start kq-no-such-program: No such file or directory"));
}

TEST(command, program_that_a_signal_ends_has_128_and_the_signal) {
  EXPECT_EQ(run_command({"sh", "-c", "kill -TERM $$"}, {})->exit_code, 128 + 15);
}

TEST(command, program_that_runs_for_too_long_is_killed) {
  const auto end = run_command({"sleep", "1000"}, {}, 20);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error(), (Error{ErrorKind::our_fault, "sleep did not end within 20 ms"}));
}

TEST(command, output_beyond_the_limit_is_dropped) {
  const auto end = run_command({"head", "-c", std::to_string(kCommandOutputBytesMax + 5'000), "/dev/zero"}, {});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_EQ(end->output.size(), kCommandOutputBytesMax);
}

}  // namespace
}  // namespace kq::tools
