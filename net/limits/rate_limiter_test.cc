#include "net/limits/rate_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::net {
namespace {

using testing::ElementsAre;

Packet from(const std::string& peer, const std::string& name) {
  return {.peer = {Side::client, peer}, .bytes = "x", .who = {name, Role::submit}, .address = "127.0.0.1"};
}

TEST(RateLimiter, limits_are_counted_by_key_or_by_connection_without_keys) {
  RateLimiter limiter({.messages_per_s = 1, .bytes_per_s = 1'000, .garbage_per_s = 1, .burst_ms = 500});
  EXPECT_TRUE(limiter.allow(from("1", "alice"), 1, 0));
  EXPECT_FALSE(limiter.allow(from("2", "alice"), 1, 0));
  EXPECT_TRUE(limiter.allow(from("1", ""), 1, 0));
  EXPECT_TRUE(limiter.allow(from("2", ""), 1, 0));
  EXPECT_THAT(limiter.take_log_lines(0),
              ElementsAre("client at 127.0.0.1 (alice) sends more than 1 messages or 1000 bytes a second, or malformed "
                          "messages; messages over the limit are dropped"));
}

TEST(RateLimiter, malformed_packets_cost_more_and_are_logged_once) {
  RateLimiter limiter({.messages_per_s = 1'000, .bytes_per_s = 1'000'000, .garbage_per_s = 1, .burst_ms = 500});
  EXPECT_TRUE(limiter.allow(from("1", ""), 1, 0));
  limiter.count_violation(from("1", ""), "malformed", 0);
  limiter.count_violation(from("1", ""), "malformed", 0);
  EXPECT_FALSE(limiter.allow(from("1", ""), 1, 0));
  EXPECT_EQ(limiter.take_log_lines(0).front(), "client at 127.0.0.1: malformed");
}

}  // namespace
}  // namespace kq::net
