#include "net/limits/token_buckets.h"

#include <gtest/gtest.h>

namespace kq::net {
namespace {

constexpr RateLimits kLimits{.messages_per_s = 1'000, .bytes_per_s = 1'000'000, .garbage_per_s = 10, .burst_ms = 100};

// Returns how many messages of this length are admitted at once.
int burst(TokenBuckets& buckets, std::string_view sender, std::size_t bytes, std::int64_t now_ms) {
  int count = 0;
  while (count < 100'000 && buckets.allow(sender, bytes, now_ms)) ++count;
  return count;
}

TEST(TokenBuckets, admits_a_burst_and_then_the_rate_per_second) {
  TokenBuckets buckets(kLimits);
  EXPECT_EQ(burst(buckets, "a", 0, 5'000), 101);
  EXPECT_EQ(burst(buckets, "a", 0, 5'000), 0);
  EXPECT_EQ(burst(buckets, "a", 0, 5'010), 10);
  EXPECT_EQ(burst(buckets, "a", 0, 9'000), 101);
}

TEST(TokenBuckets, long_messages_count_for_more) {
  TokenBuckets buckets(kLimits);
  EXPECT_EQ(burst(buckets, "a", 9'000, 0), 11);  // 1 ms for the message, 9 ms for its bytes
}

TEST(TokenBuckets, senders_do_not_affect_one_another) {
  TokenBuckets buckets(kLimits);
  burst(buckets, "a", 0, 0);
  EXPECT_EQ(burst(buckets, "b", 0, 0), 101);
}

TEST(TokenBuckets, malformed_messages_cost_their_sender_more) {
  TokenBuckets buckets(kLimits);
  EXPECT_TRUE(buckets.allow("a", 0, 0));
  buckets.count_violation("a", 0);
  EXPECT_FALSE(buckets.allow("a", 0, 0));
  EXPECT_TRUE(buckets.allow("a", 0, 2));
}

TEST(TokenBuckets, idle_senders_are_removed) {
  TokenBuckets buckets(kLimits);
  for (int i = 0; i < 1'000'000; ++i) buckets.allow(std::to_string(i), 0, i);
  EXPECT_LT(buckets.sender_count(), 3'000u);
}

}  // namespace
}  // namespace kq::net
