#include "sys/fd.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace kq::sys {
namespace {

TEST(Fd, closes_its_descriptor_on_destruction) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  { Fd writer(ends[1]); }
  Fd reader(ends[0]);
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);
}

TEST(Packets, keep_their_boundaries_and_carry_descriptors) {
  auto pair = packet_pair();
  ASSERT_TRUE(pair);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  ASSERT_TRUE(send_packet(pair->first.get(), "one"));
  const int passed[] = {writer.get()};
  ASSERT_TRUE(send_packet(pair->first.get(), std::string(kPacketBytesMax, 'x'), passed));

  auto one = receive_packet(pair->second.get(), 1000);
  ASSERT_TRUE(one && *one);
  EXPECT_EQ((*one)->bytes, "one");
  EXPECT_TRUE((*one)->fds.empty());
  auto two = receive_packet(pair->second.get(), 1000);
  ASSERT_TRUE(two && *two);
  EXPECT_EQ((*two)->bytes.size(), kPacketBytesMax);
  ASSERT_EQ((*two)->fds.size(), 1u);
  ASSERT_EQ(::write((*two)->fds[0].get(), "!", 1), 1);
  char byte = 0;
  ASSERT_EQ(::read(reader.get(), &byte, 1), 1);
  EXPECT_EQ(byte, '!');
}

TEST(Packets, distinguish_a_timeout_from_a_closed_end) {
  auto pair = packet_pair();
  ASSERT_TRUE(pair);
  const auto nothing = receive_packet(pair->second.get(), 0);
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(nothing->has_value());
  { const Fd gone = std::move(pair->first); }
  EXPECT_FALSE(receive_packet(pair->second.get(), 1000));
}

}  // namespace
}  // namespace kq::sys
