#include "sys/text_line.h"

#include <gtest/gtest.h>

namespace kq::sys {
namespace {

TEST(text_line, the_first_line_that_begins_with_the_key_tells) {
  EXPECT_EQ(value_of("a\t: 1 \nb : two words\nb: 3\n", "b"), "two words");
  EXPECT_EQ(value_of("a\t: 1 \r\n", "a"), "1");
  EXPECT_EQ(value_of("NAME=x:y\n", "NAME", '='), "x:y");
}

TEST(text_line, what_is_not_there_is_empty) {
  EXPECT_EQ(value_of("", "a"), "");
  EXPECT_EQ(value_of("a\n", "a"), "");
  EXPECT_EQ(value_of("a:  \n", "a"), "");
  EXPECT_EQ(value_of("xa: 1", "a"), "");
}

}  // namespace
}  // namespace kq::sys
