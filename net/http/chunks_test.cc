#include "net/http/chunks.h"

#include <gtest/gtest.h>

namespace kq::net {
namespace {

constexpr std::size_t kMax = 100;

TEST(HttpChunks, a_body_is_decoded_however_its_bytes_arrive) {
  const std::string coded = "3;name=value\r\nabc\r\nA \r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
  for (std::size_t step = 1; step <= coded.size(); ++step) {
    ChunkDecoder decoder;
    std::string body;
    for (std::size_t at = 0; at < coded.size(); at += step) {
      const std::string_view piece = std::string_view(coded).substr(at, step);
      EXPECT_EQ(decoder.take(piece, body, kMax), piece.size());
    }
    EXPECT_TRUE(decoder.is_complete()) << step;
    EXPECT_EQ(body, "abc0123456789");
  }
}

TEST(HttpChunks, bytes_behind_the_body_are_left) {
  ChunkDecoder decoder;
  std::string body;
  EXPECT_EQ(decoder.take("1\r\nx\r\n0\r\n\r\nGET /", body, kMax), 11u);
  EXPECT_TRUE(decoder.is_complete());
}

TEST(HttpChunks, malformed_bodies_are_noticed) {
  for (const char* coded : {"\r\n", "x\r\n", "-1\r\n", "3\nabc", "3\r\nabcd\r\n", "3\r\nabc\n", "1111111111111\r\n"}) {
    ChunkDecoder decoder;
    std::string body;
    decoder.take(coded, body, kMax);
    EXPECT_TRUE(decoder.is_malformed()) << coded;
  }
}

TEST(HttpChunks, a_long_body_is_refused_before_its_content_arrives) {
  ChunkDecoder decoder;
  std::string body(60, 'a');
  decoder.take("29\r\n", body, kMax);
  EXPECT_TRUE(decoder.is_too_long());
  ChunkDecoder huge;
  huge.take("ffffffffffff\r\n", body, kMax);
  EXPECT_TRUE(huge.is_too_long());
}

TEST(HttpChunks, extensions_and_trailers_are_limited) {
  ChunkDecoder decoder;
  std::string body;
  decoder.take("1;" + std::string(kChunkOverheadBytesMax + 1, 'a'), body, kMax);
  EXPECT_TRUE(decoder.is_malformed());
}

}  // namespace
}  // namespace kq::net
