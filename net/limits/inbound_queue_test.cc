#include "net/limits/inbound_queue.h"

#include <gtest/gtest.h>

namespace kq::net {
namespace {

Packet packet(const std::string& peer, const std::string& bytes) {
  return {.peer = {Side::client, peer}, .bytes = bytes, .who = {}, .address = ""};
}

std::string all(InboundQueue& queue) {
  std::string text;
  while (const auto next = queue.take()) text += next->peer.id + next->bytes + " ";
  return text;
}

TEST(InboundQueue, peers_are_served_in_turn_and_each_in_order) {
  InboundQueue queue;
  for (const char* bytes : {"1", "2", "3"}) EXPECT_TRUE(queue.put(packet("a", bytes)));
  EXPECT_TRUE(queue.put(packet("b", "1")));
  EXPECT_TRUE(queue.put(packet("c", "1")));
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(all(queue), "a1 b1 c1 a2 a3 ");
  EXPECT_TRUE(queue.empty());
}

TEST(InboundQueue, a_full_queue_refuses_packets_and_the_other_queues_accept_them) {
  InboundQueue queue({.packets_max = 2, .bytes_max = 100, .bytes_total_max = 1'000});
  EXPECT_TRUE(queue.put(packet("a", "1")));
  EXPECT_TRUE(queue.put(packet("a", "2")));
  EXPECT_FALSE(queue.put(packet("a", "3")));
  EXPECT_TRUE(queue.put(packet("b", "1")));
  queue.take();
  EXPECT_TRUE(queue.put(packet("a", "4")));
  EXPECT_EQ(all(queue), "b1 a2 a4 ");
}

TEST(InboundQueue, limits_the_bytes_of_each_peer_and_of_all_peers) {
  InboundQueue queue({.packets_max = 100, .bytes_max = 10, .bytes_total_max = 20});
  EXPECT_TRUE(queue.put(packet("a", std::string(15, 'x')))) << "a single packet of a peer may have any length";
  EXPECT_FALSE(queue.put(packet("a", "x")));
  EXPECT_TRUE(queue.put(packet("b", std::string(9, 'x'))));
  EXPECT_FALSE(queue.put(packet("c", "x"))) << "24 bytes wait and the limit is 20";
  queue.take();
  EXPECT_TRUE(queue.put(packet("c", "x")));
}

}  // namespace
}  // namespace kq::net
