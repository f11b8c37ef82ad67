#include "tools/cli/text.h"

#include <gtest/gtest.h>

namespace kq::tools {
namespace {

TEST(text, a_table_is_aligned) {
  EXPECT_EQ(table({{"label"}, {"median", true}}, {{"a", "1.00 us"}, {"longer", "-"}}),
            "label    median\n"
            "a       1.00 us\n"
            "longer        -\n");
}

}  // namespace
}  // namespace kq::tools
