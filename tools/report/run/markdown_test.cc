#include "tools/report/run/markdown.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Markdown, shows_the_board_and_what_did_not_pass) {
  SummaryBuilder summary("r1");
  const RunRow wrong = ended_row("relu/b", VerdictName::wrong_answer, evidence("shape", "too long\nmore"));
  summary.add(passed_row("relu/a", 1'000, 2'000));
  summary.add(wrong);
  const std::vector<MarkdownFailure> failures{*markdown_failure(wrong)};
  const std::string text = markdown_report(summary.finish(), failures, 3);
  EXPECT_THAT(text, HasSubstr("**1 of 2 jobs right, 1 faster than the reference.** 1 `passed`, 1 `wrong_answer`."));
  EXPECT_THAT(text, HasSubstr("| relu | Test CPU | relu/a | 1.00 us ±1% | 2.00 us ±1% | 2.00x ±1% |"));
  EXPECT_THAT(text, HasSubstr("<details><summary>3 jobs did not pass</summary>"));
  EXPECT_THAT(text, HasSubstr("| relu/b | wrong_answer (shape) | too long |"));
  EXPECT_THAT(text, HasSubstr("And 2 more: `kq results --failed`."));
}

TEST(Markdown, text_of_others_has_no_meaning) {
  EXPECT_EQ(markdown_text("a|b"), "a\\|b");
  EXPECT_EQ(markdown_text("@all"), "&#64;all");
  EXPECT_EQ(markdown_text("![x](http://e)"), "!\\[x\\](http&#58;//e)");
  EXPECT_EQ(markdown_text("*a* `b` ~c~ \\d"), "\\*a\\* \\`b\\` \\~c\\~ \\\\d");
  EXPECT_EQ(markdown_text("_a_ __init__"), "\\_a\\_ \\_\\_init\\_\\_");
  EXPECT_EQ(markdown_text("see #12"), "see &#35;12");
  EXPECT_EQ(markdown_text("see gh-12"), "see gh&#45;12");
  EXPECT_EQ(markdown_text("WWW.e.com"), "WWW&#46;e.com");
  EXPECT_EQ(markdown_text("# a"), "&#35; a");
  EXPECT_EQ(markdown_text("- a"), "&#45; a");
  EXPECT_THAT(markdown_text("<img src=x>\n\u202E"),
              Not(testing::AnyOf(HasSubstr("<"), HasSubstr("\n"), HasSubstr("\u202E"))));
}

TEST(Markdown, plain_text_stays_readable) {
  for (const char* plain :
       {"wrong_answer (shape)", "relu.py:12: TypeError: a + b - c!", "NVIDIA H100 80GB HBM3", "a #b {c} - d"})
    EXPECT_EQ(markdown_text(plain), plain);
}

TEST(Markdown, passed_and_unfinished_jobs_are_no_failures) {
  EXPECT_FALSE(markdown_failure(passed_row("relu/a", 1, 2)));
  EXPECT_FALSE(markdown_failure(queued_row("relu/a")));
}

}  // namespace
}  // namespace kq::tools
