#include "tools/cli/natural_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kq::tools {
namespace {

TEST(NaturalOrder, numbers_are_ordered_by_their_values) {
  std::vector<std::string> names{"relu10",   "relu2",     "level1/100", "relu",
                                 "level1/9", "level10/1", "relu2b",     "level2/1"};
  std::ranges::sort(names, [](const auto& a, const auto& b) { return natural_order(a, b) < 0; });
  EXPECT_EQ(names, (std::vector<std::string>{"level1/9", "level1/100", "level2/1", "level10/1", "relu", "relu2",
                                             "relu2b", "relu10"}));
}

TEST(NaturalOrder, only_equal_names_are_equal) {
  EXPECT_EQ(natural_order("a1", "a1"), std::strong_ordering::equal);
  EXPECT_NE(natural_order("a01", "a1"), std::strong_ordering::equal);
  EXPECT_NE(natural_order("a", "A"), std::strong_ordering::equal);
  EXPECT_TRUE(natural_order("9999999999999999999999", "10000000000000000000000") < 0);
  EXPECT_TRUE(natural_order("", "0") < 0);
}

}  // namespace
}  // namespace kq::tools
