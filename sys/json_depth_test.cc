#include "sys/json_depth.h"

#include <string>

#include <gtest/gtest.h>

namespace kq::sys {
namespace {

TEST(json_depth, counts_arrays_and_objects_inside_one_another) {
  EXPECT_TRUE(is_nested_at_most("1", 0));
  EXPECT_FALSE(is_nested_at_most("[]", 0));
  EXPECT_TRUE(is_nested_at_most(R"([{}, {"a": 1}, []])", 2));
  EXPECT_FALSE(is_nested_at_most(R"([{"a": []}])", 2));
  EXPECT_FALSE(is_nested_at_most(std::string(100'000, '['), 16));
}

TEST(json_depth, brackets_in_a_text_do_not_count) {
  EXPECT_TRUE(is_nested_at_most(R"(["[[{{", "\"[", "\\"])", 1));
  EXPECT_FALSE(is_nested_at_most(R"(["\\", []])", 1));
}

}  // namespace
}  // namespace kq::sys
