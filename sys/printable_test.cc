#include "sys/printable.h"

#include <gtest/gtest.h>

namespace kq::sys {
namespace {

TEST(Printable, replaces_control_characters_and_cuts) {
  EXPECT_EQ(printable("a\x1b[31m\tb\nc\x7f", 100), "a?[31m\tb\nc?");
  EXPECT_EQ(printable("abcdef", 3), "abc");
  EXPECT_EQ(printable(std::string_view("a\0b", 3), 9), "a?b");
  EXPECT_EQ(printable("\xC3\xA4 \xF0\x9F\x99\x82", 9), "\xC3\xA4 \xF0\x9F\x99\x82");
  EXPECT_EQ(printable("\xC3 \xFF \xED\xA0\x80 \xC2\x85 \xE2\x82", 99), "? ? ??? ?? ??");
  EXPECT_EQ(printable("\xC3\xA4\xC3\xA4", 3), "\xC3\xA4?");
}

}  // namespace
}  // namespace kq::sys
