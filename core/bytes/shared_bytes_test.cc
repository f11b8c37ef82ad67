#include "core/bytes/shared_bytes.h"

#include <gtest/gtest.h>

namespace kq {
namespace {

TEST(SharedBytes, a_copy_is_the_same_memory) {
  const SharedBytes bytes(std::string(1'000, 'x'));
  const SharedBytes copy = bytes;
  EXPECT_EQ(copy.view().data(), bytes.view().data());
  EXPECT_EQ(copy.size(), 1'000u);
}

TEST(SharedBytes, are_equal_where_their_bytes_are) {
  EXPECT_EQ(SharedBytes("a"), SharedBytes(std::string("a")));
  EXPECT_FALSE(SharedBytes("a") == SharedBytes("b"));
  EXPECT_EQ(SharedBytes(), SharedBytes(""));
  EXPECT_EQ(SharedBytes().size(), 0u);
}

}  // namespace
}  // namespace kq
