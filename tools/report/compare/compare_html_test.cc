#include "tools/report/compare/compare_html.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CompareHtml, escapes_labels_and_has_a_table_that_filters_by_change) {
  RunResults base, now;
  base.emplace("<b>x", kernel_result(passed_row("<b>x", 1'000, 2'000)));
  now.emplace("<b>x", kernel_result(ended_row("<b>x", VerdictName::crashed)));
  const std::vector<Comparison> comparisons{compare_runs("<i>r1", base, "r2", now, {})};
  const std::string html = compare_page({}, comparisons, {}, "a store", "now");
  EXPECT_THAT(html, Not(HasSubstr("<b>x")));
  EXPECT_THAT(html, Not(HasSubstr("<i>r1")));
  EXPECT_THAT(html, HasSubstr("<tr data-choice=\"failed\">"));
  EXPECT_THAT(html, HasSubstr("rank-sum test of Mann and Whitney"));
}

}  // namespace
}  // namespace kq::tools
