#include "sys/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

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
