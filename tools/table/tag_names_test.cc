#include "tools/table/tag_names.h"

#include <gtest/gtest.h>

namespace kq::tools {
namespace {

TEST(tag_names, a_wanted_tag_that_no_submission_has_is_told_with_those_that_there_are) {
  TagNames wanted("mode"), none("x");
  EXPECT_EQ(none.missing(), "no kernel has the tag 'x'; none has any tag");
  Submission submission;
  submission.tags = {{"lr", "1"}, {"model", "m"}};
  wanted.add(submission);
  EXPECT_EQ(wanted.missing(), "no kernel has the tag 'mode'; there are lr, model");
  submission.tags = {{"mode", "a"}};
  wanted.add(submission);
  EXPECT_EQ(wanted.missing(), std::nullopt);
}

}  // namespace
}  // namespace kq::tools
