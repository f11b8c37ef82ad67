#include "core/blob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"

namespace kq {
namespace {

using testing::HasSubstr;

const std::string kSource(4'096, 'x');

std::string refusal(const Blob& blob) {
  Decompressor decompressor;
  const auto content = content_of(decompressor, blob);
  return content ? "accepted" : content.error().message;
}

TEST(Blob, comes_back_packed_or_not) {
  Compressor compressor;
  Decompressor decompressor;
  const Blob small = packed(compressor, sha256("x"), "x");
  EXPECT_EQ(small.packing, Packing::raw);
  EXPECT_EQ(content_of(decompressor, small), "x");
  const Blob large = packed(compressor, sha256(kSource), kSource);
  EXPECT_EQ(large.packing, Packing::lz4);
  EXPECT_LT(large.bytes.size(), kSource.size());
  EXPECT_EQ(content_of(decompressor, large), kSource);
}

TEST(Blob, is_refused_where_its_content_has_another_hash) {
  Compressor compressor;
  EXPECT_THAT(refusal({.hash = sha256("x"), .bytes = "y"}), HasSubstr("but its SHA-256 is"));
  EXPECT_THAT(refusal(packed(compressor, sha256("x"), kSource)), HasSubstr("but its SHA-256 is"));
}

TEST(Blob, is_never_larger_than_a_file_may_be) {
  Compressor compressor;
  const std::string large(kFileBytesMax + 1, 'x');
  const std::string error_text = "1048577 bytes, at most 1048576 are allowed";
  EXPECT_EQ(refusal({.hash = sha256(large), .bytes = large}), error_text);
  EXPECT_EQ(refusal(packed(compressor, sha256(large), large)), "an LZ4 block of " + error_text);
}

TEST(Blob, bytes_that_are_no_frame_are_refused) {
  EXPECT_EQ(refusal({.hash = sha256("x"), .bytes = "x", .packing = Packing::zstd}), "not a zstd frame");
  EXPECT_EQ(refusal({.hash = sha256("x"), .bytes = "x", .packing = Packing::lz4}),
            "not an LZ4 block behind its content's size");
}

}  // namespace
}  // namespace kq
