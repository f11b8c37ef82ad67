#include "store/rocks/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace kq::store {
namespace {

TEST(Crc32c, has_the_checksums_of_the_rfc) {
  EXPECT_EQ(crc32c(0, std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(0, std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32c(0, "123456789"), 0xE3069283u);
}

TEST(Crc32c, of_two_parts_is_the_checksum_of_the_whole) {
  std::string bytes;
  std::uint32_t state = 1;
  for (int i = 0; i < 300; ++i) bytes += static_cast<char>((state = state * 1'664'525u + 1'013'904'223u) >> 24);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::string_view part = std::string_view(bytes).substr(0, size);
    const std::uint32_t crc = crc32c(0, part);
    EXPECT_EQ(crc, crc32c(crc32c(0, part.substr(0, size / 3)), part.substr(size / 3)));
  }
}

}  // namespace
}  // namespace kq::store
