#include "net/limits/log_rate_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::net {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string text() {
  return "text";
}

TEST(LogRateLimiter, keeps_one_line_per_subject_and_period) {
  LogRateLimiter limiter;
  for (int i = 0; i < 1'000'000; ++i) limiter.add("a", 1, [] { return std::string("about a"); });
  limiter.add("b", 2, [] { return std::string("about b"); });
  EXPECT_THAT(limiter.take(3), ElementsAre("about a", "about b"));
  EXPECT_THAT(limiter.take(4), IsEmpty());
}

TEST(LogRateLimiter, keeps_a_limited_number_of_lines_per_period_and_counts_the_rest) {
  LogRateLimiter limiter;
  for (std::size_t i = 0; i < kLogLinesPerPeriod + 5; ++i) limiter.add(std::to_string(i), 0, text);
  EXPECT_THAT(limiter.take(1), SizeIs(kLogLinesPerPeriod));
  EXPECT_THAT(limiter.take(kLogPeriodMs - 1), IsEmpty());
  EXPECT_THAT(limiter.take(kLogPeriodMs), ElementsAre("5 more lines of this kind were suppressed within 10 s"));
}

TEST(LogRateLimiter, the_next_period_keeps_lines_again) {
  LogRateLimiter limiter;
  limiter.add("a", 0, text);
  limiter.add("a", kLogPeriodMs, text);
  EXPECT_THAT(limiter.take(kLogPeriodMs), SizeIs(2));
}

}  // namespace
}  // namespace kq::net
