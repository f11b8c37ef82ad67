#include "net/limits/inbound_queue.h"

#include <gtest/gtest.h>

namespace kq::net {
namespace {

Packet packet(const std::string& peer, const std::string& bytes) {
  return {.peer = {Side::client, peer}, .bytes = bytes, .who = {}, .address = ""};
}

std::string all(Waiting& waiting) {
  std::string text;
  while (const auto next = waiting.take()) text += next->peer.id + next->bytes + " ";
  return text;
}

TEST(Waiting, peers_are_served_in_turn_and_each_in_order) {
  Waiting waiting;
  for (const char* bytes : {"1", "2", "3"}) EXPECT_TRUE(waiting.put(packet("a", bytes)));
  EXPECT_TRUE(waiting.put(packet("b", "1")));
  EXPECT_TRUE(waiting.put(packet("c", "1")));
  EXPECT_FALSE(waiting.empty());
  EXPECT_EQ(all(waiting), "a1 b1 c1 a2 a3 ");
  EXPECT_TRUE(waiting.empty());
}

TEST(Waiting, a_full_queue_refuses_packets_and_the_other_queues_accept_them) {
  Waiting waiting({.packets_max = 2, .bytes_max = 100, .bytes_total_max = 1'000});
  EXPECT_TRUE(waiting.put(packet("a", "1")));
  EXPECT_TRUE(waiting.put(packet("a", "2")));
  EXPECT_FALSE(waiting.put(packet("a", "3")));
  EXPECT_TRUE(waiting.put(packet("b", "1")));
  waiting.take();
  EXPECT_TRUE(waiting.put(packet("a", "4")));
  EXPECT_EQ(all(waiting), "b1 a2 a4 ");
}

TEST(Waiting, limits_the_bytes_of_each_peer_and_of_all_peers) {
  Waiting waiting({.packets_max = 100, .bytes_max = 10, .bytes_total_max = 20});
  EXPECT_TRUE(waiting.put(packet("a", std::string(15, 'x')))) << "a single packet of a peer may have any length";
  EXPECT_FALSE(waiting.put(packet("a", "x")));
  EXPECT_TRUE(waiting.put(packet("b", std::string(9, 'x'))));
  EXPECT_FALSE(waiting.put(packet("c", "x"))) << "24 bytes wait and the limit is 20";
  waiting.take();
  EXPECT_TRUE(waiting.put(packet("c", "x")));
}

}  // namespace
}  // namespace kq::net
