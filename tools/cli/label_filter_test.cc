#include "tools/cli/label_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LabelFilter, takes_labels_and_patterns_and_names_words_without_a_match) {
  LabelFilter filter({"relu/a", "gelu/*", "x?", "none*"});
  EXPECT_TRUE(filter.takes("relu/a"));
  EXPECT_FALSE(filter.takes("relu/ab"));
  EXPECT_TRUE(filter.takes("gelu/deep/anna"));
  EXPECT_TRUE(filter.takes("x1"));
  EXPECT_THAT(filter.unmatched(), ElementsAre("none*"));
}

TEST(LabelFilter, a_label_may_have_the_characters_of_a_pattern) {
  LabelFilter filter({"a[1]"});
  EXPECT_TRUE(filter.takes("a[1]"));
  EXPECT_THAT(filter.unmatched(), IsEmpty());
}

TEST(LabelFilter, without_words_takes_every_label) {
  LabelFilter filter({});
  EXPECT_TRUE(filter.takes_all());
  EXPECT_TRUE(filter.takes("a"));
}

}  // namespace
}  // namespace kq::tools
