#include "sys/text_line.h"

#include <gtest/gtest.h>

namespace kq::sys {
namespace {

TEST(text_line, returns_the_value_of_the_first_line_with_the_key) {
  EXPECT_EQ(value_of("a\t: 1 \nb : two words\nb: 3\n", "b"), "two words");
  EXPECT_EQ(value_of("a\t: 1 \r\n", "a"), "1");
  EXPECT_EQ(value_of("NAME=x:y\n", "NAME", '='), "x:y");
}

TEST(text_line, a_missing_value_is_empty) {
  EXPECT_EQ(value_of("", "a"), "");
  EXPECT_EQ(value_of("a\n", "a"), "");
  EXPECT_EQ(value_of("a:  \n", "a"), "");
  EXPECT_EQ(value_of("xa: 1", "a"), "");
}

}  // namespace
}  // namespace kq::sys
