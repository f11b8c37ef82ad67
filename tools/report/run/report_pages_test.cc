#include "tools/report/run/report_pages.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;

Expected<std::optional<std::string>> no_source(const RunRow&, const Hash&) {
  return std::nullopt;
}

std::vector<ReportFile> report_of(std::size_t jobs) {
  RunReport report({.run = "r1", .source = "a store", .made_at = "now"}, no_source);
  for (std::size_t i = 0; i < jobs; ++i)
    EXPECT_TRUE(report.add(passed_row("relu/" + std::to_string(i), 1'000, 2'000, i + 1)));
  return report.pages({}, "r1.html");
}

TEST(ReportPages, a_small_run_is_one_page) {
  const auto pages = report_of(kPageJobsMax);
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(pages[0].name, "r1.html");
  EXPECT_THAT(pages[0].html, HasSubstr("id=\"group-9\""));
}

TEST(ReportPages, a_larger_run_has_pages_of_details_that_link_to_each_other) {
  const auto pages = report_of(2 * kPageJobsMax + 1);
  ASSERT_EQ(pages.size(), 4u);
  EXPECT_EQ(pages[1].name, "r1.jobs-0001.html");
  EXPECT_THAT(pages[0].html, testing::Not(HasSubstr("id=\"group-0\"")));
  EXPECT_THAT(pages[2].html, HasSubstr("<a href=\"r1.html\">Overview</a><a rel=\"prev\" href=\"r1.jobs-0001.html\">"));
  EXPECT_THAT(pages[2].html, HasSubstr("<a rel=\"next\" href=\"r1.jobs-0003.html\">"));
  EXPECT_THAT(pages[3].html, HasSubstr("id=\"group-0\""));
}

}  // namespace
}  // namespace kq::tools
