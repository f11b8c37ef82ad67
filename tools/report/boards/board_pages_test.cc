#include "tools/report/boards/board_pages.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(BoardPages, entries_link_to_their_job_in_the_report_of_the_run) {
  BoardCollector collector;
  RunRow row = passed_row("<b>/a", 1'000, 2'000, 7);
  row.result->samples.submission_ns = {1'000};
  collector.add(row);
  const auto boards = collector.finish();
  EXPECT_THAT(runs_on(boards), testing::ElementsAre("r1"));
  const auto pages = board_pages({.vega = "x"}, boards, {.report_of_run = {{"r1", "r1.html"}}});
  ASSERT_EQ(pages.size(), 5u);
  EXPECT_EQ(pages[0].path, "index.html");
  EXPECT_THAT(pages[0].text, HasSubstr("<a href=\"runs/r1.html#job=7\">&lt;b&gt;/<wbr>a</a>"));
  EXPECT_EQ(pages[3].path, "assets/vega.js");
  EXPECT_THAT(pages[4].path, testing::StartsWith("boards/b.Test-CPU."));
  EXPECT_THAT(pages[4].text, HasSubstr("<a href=\"../runs/r1.html#job=7\">"));
  EXPECT_THAT(pages[4].text, Not(HasSubstr("<b>/a")));
}

TEST(BoardPages, a_run_without_a_report_has_no_link) {
  BoardCollector collector;
  RunRow row = passed_row("relu/a", 1'000, 2'000, 7);
  row.result->samples.submission_ns = {1'000};
  collector.add(row);
  EXPECT_THAT(board_pages({}, collector.finish(), {})[0].text, Not(HasSubstr("#job=7")));
}

}  // namespace
}  // namespace kq::tools
