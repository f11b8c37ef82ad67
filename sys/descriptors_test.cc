#include "sys/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace kq::sys {
namespace {

class Descriptors : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0); }
  void TearDown() override { ::setrlimit(RLIMIT_NOFILE, &before_); }
  void set_soft(rlim_t n) {
    const rlimit limit{.rlim_cur = n, .rlim_max = before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  rlimit before_{};
};

// Exits with 0 if the descriptors are open again and do what their description says.
void close_and_open_standard_descriptors() {
  for (int number = 0; number <= STDERR_FILENO; ++number) ::close(number);
  open_standard_descriptors();
  char byte = 0;
  const bool is_input_empty = ::read(STDIN_FILENO, &byte, 1) == 0;
  const bool is_output_refused = ::write(STDOUT_FILENO, &byte, 1) == -1 && errno == EBADF;
  const bool is_error_lost = ::write(STDERR_FILENO, &byte, 1) == 1;
  std::_Exit(is_input_empty && is_output_refused && is_error_lost ? 0 : 1);
}

TEST_F(Descriptors, closed_standard_descriptors_are_opened) {
  EXPECT_EXIT(close_and_open_standard_descriptors(), testing::ExitedWithCode(0), "");
}

TEST_F(Descriptors, open_standard_descriptors_stay) {
  EXPECT_EXIT(
      {
        open_standard_descriptors();
        (void)::write(STDERR_FILENO, "still here", 10);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "still here");
}

TEST_F(Descriptors, the_soft_limit_is_raised_as_far_as_needed) {
  set_soft(600);
  EXPECT_EQ(connections_possible(400), 400u);
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, 400 + kDescriptorsKept);
}

TEST_F(Descriptors, a_sufficient_limit_is_not_changed) {
  set_soft(2'500);
  EXPECT_EQ(connections_possible(300), 300u);
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, 2'500u);
}

// This test is the last one of the file, because only root can raise a lowered hard limit again.
TEST_F(Descriptors, the_hard_limit_bounds_the_connections) {
  const rlimit low{.rlim_cur = 1'000, .rlim_max = 1'000};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(connections_possible(4'096), 500u);
}

}  // namespace
}  // namespace kq::sys
