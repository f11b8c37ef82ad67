#include "producer/client/label_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace kq::producer {
namespace {

TEST(BeforeLabel, the_row_behind_the_text_before_a_label_is_that_of_the_label) {
  for (const std::string& label : std::vector<std::string>{"a", "relu/fast", "x ", "ä"}) {
    const std::string before = before_label(label);
    EXPECT_LT(before, label);
    for (const std::string& other :
         {label.substr(0, label.size() - 1), std::string("`zzz"), std::string("relu/fass~~")})
      EXPECT_FALSE(before < other && other < label) << label << " " << other;
  }
}

}  // namespace
}  // namespace kq::producer
