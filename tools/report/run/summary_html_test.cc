#include "tools/report/run/summary_html.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SummaryHtml, each_verdict_has_a_tone) {
  EXPECT_EQ(tone_of("passed"), "good");
  EXPECT_EQ(tone_of("crashed"), "bad");
  EXPECT_EQ(tone_of("rejected"), "policy");
  EXPECT_EQ(tone_of("abandoned"), "fault");
  EXPECT_EQ(tone_of("queued"), "waiting");
}

TEST(SummaryHtml, times_are_minutes_in_utc) {
  EXPECT_EQ(minute_text(1'700'000'002'000), "2023-11-14 22:13 UTC");
  EXPECT_EQ(minute_text(0), "-");
}

TEST(SummaryHtml, texts_of_a_run_are_escaped_everywhere) {
  SummaryBuilder builder("<b>run</b>");
  RunRow row = passed_row("<i>x</i>/a", 1'000, 2'000);
  row.entry.submission.author = "<u>me</u>";
  row.result->device.model = "<s>cpu</s>";
  row.result->problem_warnings = {{"zeros", "<p>"}};
  builder.add(row);
  const RunSummary summary = builder.finish();
  const PageFiles files{.vega = "x"};
  const std::string html = header_html(summary) + tiles_html(summary) + warnings_html(summary) + board_html(summary) +
                           places_html(summary) + plots_section_html(files, summary, {}, {"<em>p</em>"}) +
                           footer_html(files, "<q>", "now");
  for (const char* tag : {"<b>run", "<i>x", "<u>", "<s>", "<em>", "<q>", "<p>."})
    EXPECT_THAT(html, Not(HasSubstr(tag)));
  EXPECT_THAT(html, HasSubstr("&lt;i&gt;x&lt;/<wbr>i&gt;/<wbr>a"));
}

TEST(SummaryHtml, a_build_without_plots_says_why) {
  SummaryBuilder builder("r1");
  builder.add(passed_row("relu/a", 1'000, 2'000));
  EXPECT_THAT(plots_section_html({}, builder.finish(), {}, {}), HasSubstr("kq was built without vl-convert-python"));
}

}  // namespace
}  // namespace kq::tools
