#include "net/limits/token_bucket.h"

#include <gtest/gtest.h>

namespace kq::net {
namespace {

constexpr RateLimits kLimits{.messages_per_s = 1'000, .bytes_per_s = 1'000'000, .garbage_per_s = 10, .burst_ms = 100};

// Returns how many messages of this length are admitted at once.
int burst(Rates& rates, std::string_view sender, std::size_t bytes, std::int64_t now_ms) {
  int n = 0;
  while (n < 100'000 && rates.allow(sender, bytes, now_ms)) ++n;
  return n;
}

TEST(Rates, admits_a_burst_and_then_the_rate_per_second) {
  Rates rates(kLimits);
  EXPECT_EQ(burst(rates, "a", 0, 5'000), 101);
  EXPECT_EQ(burst(rates, "a", 0, 5'000), 0);
  EXPECT_EQ(burst(rates, "a", 0, 5'010), 10);
  EXPECT_EQ(burst(rates, "a", 0, 9'000), 101);
}

TEST(Rates, long_messages_count_for_more) {
  Rates rates(kLimits);
  EXPECT_EQ(burst(rates, "a", 9'000, 0), 11);  // 1 ms for the message, 9 ms for its bytes
}

TEST(Rates, senders_do_not_affect_one_another) {
  Rates rates(kLimits);
  burst(rates, "a", 0, 0);
  EXPECT_EQ(burst(rates, "b", 0, 0), 101);
}

TEST(Rates, malformed_messages_cost_their_sender_more) {
  Rates rates(kLimits);
  EXPECT_TRUE(rates.allow("a", 0, 0));
  rates.blame("a", 0);
  EXPECT_FALSE(rates.allow("a", 0, 0));
  EXPECT_TRUE(rates.allow("a", 0, 2));
}

TEST(Rates, idle_senders_are_removed) {
  Rates rates(kLimits);
  for (int i = 0; i < 1'000'000; ++i) rates.allow(std::to_string(i), 0, i);
  EXPECT_LT(rates.senders(), 3'000u);
}

}  // namespace
}  // namespace kq::net
