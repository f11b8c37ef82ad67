#include "net/limits/senders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::net {
namespace {

using testing::ElementsAre;

Packet from(const std::string& peer, const std::string& name) {
  return {.peer = {Side::client, peer}, .bytes = "x", .who = {name, Role::submit}, .address = "127.0.0.1"};
}

TEST(Senders, limits_are_counted_by_key_or_by_connection_without_keys) {
  Senders senders({.messages_per_s = 1, .bytes_per_s = 1'000, .garbage_per_s = 1, .burst_ms = 500});
  EXPECT_TRUE(senders.allow(from("1", "alice"), 1, 0));
  EXPECT_FALSE(senders.allow(from("2", "alice"), 1, 0));
  EXPECT_TRUE(senders.allow(from("1", ""), 1, 0));
  EXPECT_TRUE(senders.allow(from("2", ""), 1, 0));
  EXPECT_THAT(senders.take_notes(0),
              ElementsAre("client at 127.0.0.1 (alice) sends more than 1 messages or 1000 bytes a second, or malformed "
                          "messages; messages over the limit are dropped"));
}

TEST(Senders, malformed_packets_cost_more_and_are_logged_once) {
  Senders senders({.messages_per_s = 1'000, .bytes_per_s = 1'000'000, .garbage_per_s = 1, .burst_ms = 500});
  EXPECT_TRUE(senders.allow(from("1", ""), 1, 0));
  senders.blame(from("1", ""), "malformed", 0);
  senders.blame(from("1", ""), "malformed", 0);
  EXPECT_FALSE(senders.allow(from("1", ""), 1, 0));
  EXPECT_EQ(senders.take_notes(0).front(), "client at 127.0.0.1: malformed");
}

}  // namespace
}  // namespace kq::net
