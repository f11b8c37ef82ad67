#include "core/codec/msgpack_reader.h"

#include <gtest/gtest.h>

#include <limits>
#include <msgpack.hpp>

namespace kq {
namespace {

std::string by_library(const auto& pack) {
  msgpack::sbuffer buffer;
  msgpack::packer packer(buffer);
  pack(packer);
  return {buffer.data(), buffer.size()};
}

std::string refusal(std::string_view bytes) {
  MsgpackReader in(bytes);
  try {
    in.skip();
  } catch (const Malformed& malformed) {
    return malformed.what;
  } catch (const TooManyItems&) {
    return "too many items";
  }
  return in.rest_bytes() == 0 ? "accepted" : "accepted in part";
}

TEST(MsgpackReader, reads_every_integer_that_the_library_writes) {
  for (int bits = 0; bits < 64; ++bits) {
    for (const std::uint64_t value : {(1ull << bits) - 1, 1ull << bits, (1ull << bits) + 1}) {
      const std::string bytes = by_library([&](auto& out) { out.pack(value); });
      const auto read = MsgpackReader(bytes).try_integer();
      ASSERT_TRUE(read) << value;
      EXPECT_EQ(read->bits, value);
      EXPECT_FALSE(read->negative);
    }
    const std::int64_t negative = -static_cast<std::int64_t>((1ull << bits) - 1) - 1;
    const auto read = MsgpackReader(by_library([&](auto& out) { out.pack(negative); })).try_integer();
    ASSERT_TRUE(read) << negative;
    EXPECT_EQ(static_cast<std::int64_t>(read->bits), negative);
    EXPECT_TRUE(read->negative);
  }
}

TEST(MsgpackReader, reads_text_and_bytes_of_every_length_in_place) {
  for (const std::uint32_t n : {0u, 1u, 31u, 32u, 255u, 256u, 65'535u, 65'536u}) {
    const std::string body(n, 'x');
    const std::string text = by_library([&](auto& out) { out.pack_str(n).pack_str_body(body.data(), n); });
    const auto read = MsgpackReader(text).try_text();
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, body);
    EXPECT_EQ(read->data(), text.data() + text.size() - n);
    const std::string binary = by_library([&](auto& out) { out.pack_bin(n).pack_bin_body(body.data(), n); });
    EXPECT_EQ(MsgpackReader(binary).try_binary(), body);
  }
}

TEST(MsgpackReader, a_given_text_is_read_in_every_form) {
  for (const std::string& head :
       {std::string("\xA3"), std::string("\xD9\x03"), std::string("\xDA\0\x03", 3), std::string("\xDB\0\0\0\x03", 5)}) {
    const std::string bytes = head + "run\x07";
    MsgpackReader in(bytes);
    EXPECT_FALSE(in.try_text("ran"));
    EXPECT_FALSE(in.try_text("ru"));
    EXPECT_FALSE(in.try_text("runs"));
    EXPECT_EQ(in.rest_bytes(), bytes.size());
    EXPECT_TRUE(in.try_text("run"));
    EXPECT_FALSE(in.try_text("run"));
    EXPECT_EQ(in.rest_bytes(), 1u);
  }
  EXPECT_FALSE(MsgpackReader("\xA3ru").try_text("run"));
  EXPECT_THROW(MsgpackReader("\xD9\x03ru").try_text("run"), Malformed);
  EXPECT_THROW(MsgpackReader("").try_text("run"), Malformed);
}

TEST(MsgpackReader, a_value_of_another_type_leaves_the_position_unchanged) {
  const std::string bytes = by_library([](auto& out) { out.pack(7); });
  MsgpackReader in(bytes);
  EXPECT_FALSE(in.try_nil());
  EXPECT_FALSE(in.try_boolean());
  EXPECT_FALSE(in.try_float64());
  EXPECT_FALSE(in.try_text());
  EXPECT_FALSE(in.try_binary());
  EXPECT_FALSE(in.try_open_array());
  EXPECT_FALSE(in.try_open_map());
  EXPECT_EQ(in.rest_bytes(), 1u);
  EXPECT_EQ(in.try_integer()->bits, 7u);
}

TEST(MsgpackReader, skips_one_value_of_any_type) {
  const std::string values[] = {
      by_library([](auto& out) { out.pack_nil(); }),
      by_library([](auto& out) { out.pack(true); }),
      by_library([](auto& out) { out.pack(-5); }),
      by_library([](auto& out) { out.pack(0.5f); }),
      by_library([](auto& out) { out.pack(0.5); }),
      by_library([](auto& out) { out.pack("text"); }),
      by_library([](auto& out) { out.pack_bin(2).pack_bin_body("ab", 2); }),
      by_library([](auto& out) { out.pack_array(2).pack(1).pack_array(0); }),
      by_library([](auto& out) { out.pack_map(1).pack("a").pack_map(1).pack(1).pack(2); }),
  };
  for (const std::string& value : values) {
    EXPECT_EQ(refusal(value), "accepted");
    EXPECT_EQ(refusal(value + "x"), "accepted in part");
    for (std::size_t n = 0; n < value.size(); ++n)
      EXPECT_EQ(refusal(value.substr(0, n)), "the message ends early") << n;
  }
}

TEST(MsgpackReader, refuses_types_that_the_protocol_does_not_use) {
  for (const int type : {0xC1, 0xC7, 0xC8, 0xC9, 0xD4, 0xD5, 0xD6, 0xD7, 0xD8}) {
    const std::string bytes = std::string(1, static_cast<char>(type)) + std::string(32, '\0');
    EXPECT_EQ(refusal(bytes), "a type that the protocol does not use") << type;
  }
}

TEST(MsgpackReader, refuses_a_count_that_the_bytes_cannot_hold) {
  EXPECT_EQ(refusal("\x92\x01"), "the message ends early");
  EXPECT_EQ(refusal(std::string("\xDC\xFF\xFF\x01\x02", 5)), "the message ends early");
  EXPECT_EQ(refusal(std::string("\xDE\x00\x02\x01\x02\x03", 6)), "the message ends early");
}

TEST(MsgpackReader, limits_one_array_and_all_arrays_together) {
  const auto head = [](std::uint32_t n) { return by_library([&](auto& out) { out.pack_array(n); }); };
  const auto zeros = [&](std::uint32_t n) { return head(n) + std::string(n, '\0'); };
  EXPECT_EQ(refusal(zeros(kMessageItemsMax)), "accepted");
  EXPECT_EQ(refusal(zeros(kMessageItemsMax + 1)), "an array or map with more elements than are allowed");
  constexpr auto kFull = static_cast<std::uint32_t>(kMessageItemsTotalMax / kMessageItemsMax);
  std::string many = head(kFull);
  for (std::uint32_t i = 0; i < kFull; ++i) many += zeros(kMessageItemsMax);
  EXPECT_EQ(refusal(many), "too many items");
}

TEST(MsgpackReader, limits_the_depth) {
  const auto nested = [](std::size_t n) { return std::string(n, '\x91') + '\xC0'; };
  EXPECT_EQ(refusal(nested(kMessageDepthMax)), "accepted");
  EXPECT_EQ(refusal(nested(kMessageDepthMax + 1)), "arrays and maps inside one another deeper than is allowed");
}

TEST(MsgpackReader, closing_decreases_the_depth) {
  const std::string bytes(100, '\x90');
  MsgpackReader in(bytes);
  for (int i = 0; i < 100; ++i) in.skip();
  EXPECT_EQ(in.rest_bytes(), 0u);
}

}  // namespace
}  // namespace kq
