#include "core/bytes/base64.h"

#include <gtest/gtest.h>

namespace kq {
namespace {

TEST(Base64, gives_the_values_of_the_standard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(std::string("\0\xFF\xFE", 3)), "AP/+");
}

}  // namespace
}  // namespace kq
