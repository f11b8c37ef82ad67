#include "core/compress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/limits.h"

namespace kq {
namespace {

using testing::HasSubstr;

std::string text_of(std::size_t bytes_n) {
  std::string text;
  for (int line = 0; text.size() < bytes_n; ++line)
    text += "y[" + std::to_string(line) + "] = tl.load(x_ptr + offsets, mask=mask)\n";
  text.resize(bytes_n);
  return text;
}

std::string noise_of(std::size_t bytes_n) {
  std::mt19937 random(3);
  std::string noise(bytes_n, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  return noise;
}

std::string refusal(std::string_view frame, std::size_t bytes_max = kFileBytesMax) {
  const auto content = Decompressor().decompress(frame, bytes_max);
  if (content) return "accepted";
  EXPECT_EQ(content.error().code, ExitCode::bad_input);
  return content.error().message;
}

TEST(Compress, text_comes_back_as_it_was_and_is_smaller_between) {
  Compressor compressor;
  Decompressor decompressor;
  for (const std::size_t bytes_n : std::initializer_list<std::size_t>{100, 4'096, 300, kFileBytesMax, 5'000}) {
    const std::string text = text_of(bytes_n);
    const auto frame = compressor.compress(text);
    ASSERT_TRUE(frame) << bytes_n;
    EXPECT_LT(frame->size(), text.size());
    EXPECT_EQ(decompressor.decompress(*frame, text.size()), text);
  }
}

TEST(Compress, what_does_not_shrink_is_left_alone) {
  EXPECT_FALSE(Compressor().compress(""));
  EXPECT_FALSE(Compressor().compress("x"));
  EXPECT_FALSE(Compressor().compress(noise_of(4'096)));
}

TEST(Compress, equal_content_makes_equal_frames) {
  Compressor used;
  (void)used.compress(text_of(70'000));
  EXPECT_EQ(used.compress(text_of(4'096)), Compressor().compress(text_of(4'096)));
}

TEST(Compress, a_moved_compressor_goes_on) {
  Compressor first;
  Compressor second = std::move(first);
  EXPECT_TRUE(second.compress(text_of(4'096)));
}

TEST(Compress, content_above_the_limit_is_refused_by_its_name_alone) {
  const auto bomb = Compressor().compress(std::string(16u << 20, '\0'));
  EXPECT_EQ(refusal(*bomb), "a zstd frame of 16777216 bytes, at most 1048576 are allowed");
}

TEST(Compress, anything_but_one_whole_frame_is_refused) {
  const std::string frame = *Compressor().compress(text_of(4'096));
  EXPECT_EQ(refusal(""), "not a zstd frame");
  EXPECT_EQ(refusal("print('hello')"), "not a zstd frame");
  EXPECT_THAT(refusal(frame + frame), HasSubstr("something behind it"));
  EXPECT_THAT(refusal(frame + "x"), HasSubstr("something behind it"));
  EXPECT_THAT(refusal(std::string("\x50\x2A\x4D\x18\x00\x00\x00\x00", 8) + frame),
              HasSubstr("something behind it"));  // skippable
  for (std::size_t n = 0; n < frame.size(); ++n) EXPECT_NE(refusal(frame.substr(0, n)), "accepted") << n;
}

TEST(Compress, a_frame_that_hides_its_size_is_refused) {
  // Frame header of one empty raw block, without a content size: window descriptor instead.
  EXPECT_EQ(refusal(std::string("\x28\xB5\x2F\xFD\x00\x58\x01\x00\x00", 9)),
            "a zstd frame that does not name its content's size");
}

TEST(Compress, mutated_frames_never_crash) {
  const std::string text = text_of(4'096);
  const std::string frame = *Compressor().compress(text);
  std::mt19937 random(1);
  Decompressor decompressor;
  for (int i = 0; i < 20'000; ++i) {
    std::string hostile = frame;
    for (auto n = 1 + random() % 3; n > 0; --n) hostile[random() % hostile.size()] = static_cast<char>(random());
    const auto content = decompressor.decompress(hostile, kFileBytesMax);
    EXPECT_LE(content.value_or("").size(), kFileBytesMax);
  }
  EXPECT_EQ(decompressor.decompress(frame, kFileBytesMax), text) << "damage is forgotten";
}

}  // namespace
}  // namespace kq
