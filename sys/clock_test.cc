#include "sys/clock.h"

#include <gtest/gtest.h>

namespace kq::sys {
namespace {

TEST(Clock, unix_time_is_in_milliseconds) {
  constexpr std::int64_t start_of_2020 = 1'577'836'800'000;
  constexpr std::int64_t start_of_2200 = 7'258'118'400'000;
  EXPECT_GT(unix_now_ms(), start_of_2020);
  EXPECT_LT(unix_now_ms(), start_of_2200);
}

TEST(Clock, monotonic_time_never_goes_back) {
  std::int64_t last = monotonic_now_ms();
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t now = monotonic_now_ms();
    EXPECT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace kq::sys
