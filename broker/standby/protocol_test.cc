#include "broker/standby/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::broker {
namespace {

using testing::HasSubstr;

TEST(StandbyProtocolTest, a_message_survives_its_encoding) {
  const std::string bytes = encode_standby(LogPart{1, 2, 1ull << 63, 4, 5, std::string("a\0b", 3)});
  ASSERT_TRUE(is_standby_message(bytes));
  const auto message = decode_standby(bytes);
  ASSERT_TRUE(message);
  const auto* part = std::get_if<LogPart>(&*message);
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(part->last, 1ull << 63);
  EXPECT_EQ(part->total, 5);
  EXPECT_EQ(part->bytes, std::string("a\0b", 3));
}

TEST(StandbyProtocolTest, every_cut_and_every_surplus_byte_is_refused) {
  const std::string bytes = encode_standby(Follow{1, 2, 3, 4, "host:/store"});
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode_standby(bytes.substr(0, length))) << length;
  EXPECT_FALSE(decode_standby(bytes + "x"));
  EXPECT_TRUE(decode_standby(bytes));
}

TEST(StandbyProtocolTest, another_version_is_refused_with_its_number) {
  std::string bytes = encode_standby(Alive{});
  bytes[1] = '2';
  const auto refused = decode_standby(bytes);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("in version '2', this one in version 1"));
}

}  // namespace
}  // namespace kq::broker
