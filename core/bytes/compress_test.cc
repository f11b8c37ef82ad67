#include "core/bytes/compress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/limits.h"

namespace kq {
namespace {

using testing::HasSubstr;

std::string text_of(std::size_t byte_count) {
  std::string text;
  for (int line = 0; text.size() < byte_count; ++line)
    text += "y[" + std::to_string(line) + "] = tl.load(x_ptr + offsets, mask=mask)\n";
  text.resize(byte_count);
  return text;
}

std::string noise_of(std::size_t byte_count) {
  std::mt19937 random(3);
  std::string noise(byte_count, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  return noise;
}

// Returns text_of(1'000) as the zstd program compresses it at level 3.
std::string zstd_frame() {
  constexpr std::string_view hex =
      "28b52ffd60e802ed0300e403795b305d203d20746c2e6c6f616428785f707472202b206f6666736574732c206d61736b3d290a795b313233"
      "34353637"
      "38393131313131313131313232321700402900f30093b1bba6a0bbe691bb2603774de176cdc3764d46ed9a02ed9ac7ec9a91ec322f805800"
      "49005d00"
      "b1009200ba006201243a05bab0ca13";
  std::string frame;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    frame += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return frame;
}

std::string refusal(Packing packing, std::string_view packed, std::size_t bytes_max = kFileBytesMax) {
  const auto content = Decompressor().decompress(packing, packed, bytes_max);
  if (content) return "accepted";
  EXPECT_EQ(content.error().kind, ErrorKind::bad_input);
  return content.error().message;
}

TEST(Compress, text_comes_back_as_it_was_and_is_smaller_between) {
  Compressor compressor;
  Decompressor decompressor;
  for (const std::size_t byte_count : std::initializer_list<std::size_t>{100, 4'096, 300, kFileBytesMax, 5'000}) {
    const std::string text = text_of(byte_count);
    const auto block = compressor.compress(text);
    ASSERT_TRUE(block) << byte_count;
    EXPECT_LT(block->size(), text.size());
    EXPECT_EQ(decompressor.decompress(Packing::lz4, *block, text.size()), text);
  }
}

TEST(Compress, a_frame_of_zstd_is_read_too) {
  EXPECT_EQ(Decompressor().decompress(Packing::zstd, zstd_frame(), 1'000), text_of(1'000));
}

TEST(Compress, raw_bytes_are_what_they_are) {
  EXPECT_EQ(Decompressor().decompress(Packing::raw, "as it is", 8), "as it is");
  EXPECT_EQ(refusal(Packing::raw, "as it is", 7), "8 bytes, at most 7 are allowed");
}

TEST(Compress, content_that_does_not_shrink_is_not_packed) {
  EXPECT_FALSE(Compressor().compress(""));
  EXPECT_FALSE(Compressor().compress("x"));
  EXPECT_FALSE(Compressor().compress(noise_of(4'096)));
}

TEST(Compress, equal_content_is_packed_equally) {
  Compressor used;
  (void)used.compress(text_of(70'000));
  EXPECT_EQ(used.compress(text_of(4'096)), Compressor().compress(text_of(4'096)));
}

TEST(Compress, a_moved_compressor_goes_on) {
  Compressor first;
  Compressor second = std::move(first);
  EXPECT_TRUE(second.compress(text_of(4'096)));
}

TEST(Compress, content_above_the_limit_is_refused_by_its_stated_size) {
  const auto bomb = Compressor().compress(std::string(16u << 20, '\0'));
  EXPECT_EQ(refusal(Packing::lz4, *bomb), "an LZ4 block of 16777216 bytes, at most 1048576 are allowed");
  EXPECT_EQ(refusal(Packing::zstd, zstd_frame(), 999), "a zstd frame of 1000 bytes, at most 999 are allowed");
}

TEST(Compress, anything_but_one_whole_block_is_refused) {
  const std::string block = *Compressor().compress(text_of(4'096));
  EXPECT_EQ(refusal(Packing::lz4, ""), "not an LZ4 block behind its content's size");
  EXPECT_EQ(refusal(Packing::lz4, std::string("\0\0\1\0", 4) + "t('hello')"), "a damaged LZ4 block");
  EXPECT_NE(refusal(Packing::lz4, block + block), "accepted");
  EXPECT_NE(refusal(Packing::lz4, block + "x"), "accepted");
  for (std::size_t n = 0; n < block.size(); ++n) EXPECT_NE(refusal(Packing::lz4, block.substr(0, n)), "accepted") << n;
  std::string longer = block;
  ++longer[3];
  EXPECT_EQ(refusal(Packing::lz4, longer), "an LZ4 block whose content is not as long as it says");
}

TEST(Compress, anything_but_one_whole_frame_is_refused) {
  const std::string frame = zstd_frame();
  EXPECT_EQ(refusal(Packing::zstd, ""), "not a zstd frame");
  EXPECT_EQ(refusal(Packing::zstd, "print('hello')"), "not a zstd frame");
  EXPECT_THAT(refusal(Packing::zstd, frame + frame), HasSubstr("something behind it"));
  EXPECT_THAT(refusal(Packing::zstd, frame + "x"), HasSubstr("something behind it"));
  EXPECT_THAT(refusal(Packing::zstd, std::string("\x50\x2A\x4D\x18\x00\x00\x00\x00", 8) + frame),
              HasSubstr("something behind it"));  // a skippable frame
  for (std::size_t n = 0; n < frame.size(); ++n) EXPECT_NE(refusal(Packing::zstd, frame.substr(0, n)), "accepted") << n;
}

TEST(Compress, a_frame_that_hides_its_size_is_refused) {
  // A frame of one empty raw block whose header has a window descriptor instead of a content size.
  EXPECT_EQ(refusal(Packing::zstd, std::string("\x28\xB5\x2F\xFD\x00\x58\x01\x00\x00", 9)),
            "a zstd frame that does not name its content's size");
}

TEST(Compress, a_content_says_how_long_it_is) {
  const std::string text = text_of(1'000);
  const std::string block = *Compressor().compress(text);
  EXPECT_EQ(content_bytes(Packing::raw, text), text.size());
  EXPECT_EQ(content_bytes(Packing::lz4, block), text.size());
  EXPECT_EQ(content_bytes(Packing::lz4, block.substr(0, 3)), 0u);
  EXPECT_EQ(content_bytes(Packing::zstd, zstd_frame()), text.size());
  EXPECT_EQ(content_bytes(Packing::zstd, "print('hello')"), 0u);
}

TEST(Compress, mutated_bytes_never_crash) {
  const std::string text = text_of(1'000);
  for (const auto& [packing, packed] :
       {std::pair(Packing::zstd, zstd_frame()), std::pair(Packing::lz4, *Compressor().compress(text))}) {
    std::mt19937 random(1);
    Decompressor decompressor;
    for (int i = 0; i < 20'000; ++i) {
      std::string hostile = packed;
      for (auto n = 1 + random() % 3; n > 0; --n) hostile[random() % hostile.size()] = static_cast<char>(random());
      const auto content = decompressor.decompress(packing, hostile, kFileBytesMax);
      EXPECT_LE(content.value_or("").size(), kFileBytesMax);
    }
    EXPECT_EQ(decompressor.decompress(packing, packed, kFileBytesMax), text)
        << "damaged input must not change later results";
  }
}

}  // namespace
}  // namespace kq
