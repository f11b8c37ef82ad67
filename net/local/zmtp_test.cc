#include "net/local/zmtp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace kq::net {
namespace {

using testing::ElementsAre;
using Kind = ZmtpItem::Kind;

constexpr std::size_t kMessageMax = 1'000;

std::string framed(std::string_view message) {
  const ZmtpHeader header = zmtp_header(message.size());
  return std::string(header.bytes.data(), header.size).append(message);
}

// Returns the items that a reader returns for `bytes`, which arrive in pieces of `at_once` bytes.
std::vector<std::string> read(std::string_view bytes, std::size_t at_once) {
  static constexpr const char* kNames[] = {"ready", "message ", "multipart", "ping ", "other mechanism ", "malformed"};
  ZmtpReader reader(kMessageMax);
  std::vector<std::string> items;
  for (std::size_t i = 0; i < bytes.size(); i += at_once) {
    reader.put(bytes.substr(i, at_once));
    while (const auto item = reader.next()) items.push_back(kNames[static_cast<int>(item->kind)] + item->bytes);
  }
  return items;
}

TEST(Zmtp, messages_are_read_from_pieces_of_any_length) {
  const std::string long_message(kMessageMax, 'y');
  const std::string bytes =
      zmtp_handshake("DEALER") + framed("x") + framed(long_message) + framed("") + framed(std::string(256, 'z'));
  for (std::size_t at_once = 1; at_once < 400; ++at_once) {
    EXPECT_THAT(read(bytes, at_once), ElementsAre("ready", "message x", "message " + long_message, "message ",
                                                  "message " + std::string(256, 'z')))
        << at_once;
  }
}

TEST(Zmtp, a_header_with_a_length_over_the_limit_is_malformed) {
  const std::string bytes =
      zmtp_handshake("DEALER") + framed("x") + framed(std::string(kMessageMax + 1, 'y')).substr(0, 20) + framed("z");
  for (const std::size_t at_once : {1, 7, 1'000})
    EXPECT_THAT(read(bytes, at_once), ElementsAre("ready", "message x", "malformed"));
}

TEST(Zmtp, a_message_of_several_parts_is_one_item) {
  std::string first = framed("one");
  first[0] = 1;
  const std::string bytes = zmtp_handshake("DEALER") + first + first + framed("two") + framed("whole");
  for (const std::size_t at_once : {1, 1'000})
    EXPECT_THAT(read(bytes, at_once), ElementsAre("ready", "multipart", "message whole"));
}

TEST(Zmtp, a_ping_is_answered_with_its_context) {
  const std::string bytes =
      zmtp_handshake("DEALER") + std::string("\x04\x09\x04PING\0\x05hi", 11) + std::string("\x04\x05\x04NONE", 7);
  EXPECT_THAT(read(bytes, 1'000), ElementsAre("ready", "ping " + std::string("\x04\x07\x04PONGhi", 9)));
}

TEST(Zmtp, another_mechanism_is_named) {
  std::string greeting = zmtp_handshake("DEALER").substr(0, 64);
  greeting.replace(12, 5, "CURVE");
  EXPECT_THAT(read(greeting, 1), ElementsAre("other mechanism CURVE"));
}

TEST(Zmtp, other_bytes_are_malformed) {
  const std::string opening = zmtp_handshake("ROUTER");
  const std::string greeting = opening.substr(0, 64);
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(20, '\xff'), greeting + framed("a message first"),
        greeting + std::string("\x04\x06\x05"
                               "ERROR",
                               8),
        greeting + std::string("\x06\xff\xff\xff\xff\xff\xff\xff\xff", 9), greeting + std::string("\x08\x01", 2)}) {
    for (const std::size_t at_once : {1, 1'000}) EXPECT_THAT(read(bytes, at_once), ElementsAre("malformed"));
  }
}

}  // namespace
}  // namespace kq::net
