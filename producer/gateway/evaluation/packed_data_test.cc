#include "producer/gateway/evaluation/packed_data.h"

#include <gtest/gtest.h>

using namespace kq;
using namespace kq::gateway::evaluation;

TEST(PackedData, base64_with_blanks_and_with_or_without_padding) {
  EXPECT_EQ(decode_base64("AAECAw==").value(), std::string("\0\1\2\3", 4));
  EXPECT_EQ(decode_base64("AAEC\nAw").value(), std::string("\0\1\2\3", 4));
  EXPECT_EQ(decode_base64("/+8=").value(), "\xff\xef");
  EXPECT_EQ(decode_base64("").value(), "");
}

TEST(PackedData, text_that_is_no_base64_is_refused_with_its_place) {
  EXPECT_EQ(decode_base64("AA_C").error().message, "is no base64 at character 2");
  EXPECT_EQ(decode_base64("AA==AA==").error().message, "is no base64 at character 4");
  EXPECT_EQ(decode_base64("AAECA").error().message, "is base64 that is cut off, it has 5 digits");
  EXPECT_EQ(decode_base64("AAE==").error().message, "is base64 that is cut off, it has 3 digits");
}

TEST(PackedData, zlib_data_must_have_exactly_the_size) {
  // zlib.compress(b"\0" * 1000)
  const std::string zeros = decode_base64("eJxjYBgFo2AUDHcAAAPoAAE=").value();
  EXPECT_EQ(inflate(zeros, 1000).value(), std::string(1000, '\0'));
  EXPECT_EQ(inflate(zeros, 1001).error().message, "has 1000 bytes when unpacked, must have 1001");
  EXPECT_EQ(inflate(zeros, 100).error().message, "has more than 100 bytes when unpacked");
  EXPECT_EQ(inflate("abc", 3).error().message, "is not what zlib has compressed");
  EXPECT_EQ(inflate(zeros.substr(0, 8), 1000).error().message, "is not what zlib has compressed");
}

TEST(PackedData, packs_in_the_alphabet_of_pythons_b85encode) {
  // base64.b85encode(zlib.compress(b"hello hello hello", 6))
  EXPECT_EQ(pack("hello hello hello"), "c$~{f&B@7E$Uu+)IxYr%");
}
