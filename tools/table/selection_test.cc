#include "tools/table/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/table/csv.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kNowMs = 1'700'000'010'000;

// Returns the selected rows of a job as lines of CSV.
std::vector<std::string> shown(const SelectionOptions& words, const RunRow& row) {
  const auto selection = Selection::make(words, kNowMs);
  EXPECT_TRUE(selection) << selection.error().message;
  std::vector<std::string> lines;
  const auto visited = selection->each(row, [&](std::span<const Cell> cells) {
    lines.push_back(csv_line(cells));
    return Expected<void>();
  });
  EXPECT_TRUE(visited);
  return lines;
}

std::string error_message(const SelectionOptions& words) {
  const auto selection = Selection::make(words, kNowMs);
  EXPECT_FALSE(selection);
  return selection ? "" : selection.error().message;
}

bool keeps(const std::string& condition, const RunRow& row) {
  return !shown({.columns = "label", .where = {condition}}, row).empty();
}

TEST(selection, columns_come_in_the_order_asked_for) {
  const RunRow row = passed_row("relu/fast", 12'500, 25'000);
  EXPECT_THAT(shown({.columns = "speedup,label,verdict"}, row), ElementsAre("2,relu/fast,passed\n"));
  EXPECT_EQ(Selection::make({}, kNowMs)->columns().size(), columns().size());
}

TEST(selection, tags_are_columns_and_conditions) {
  RunRow row = passed_row("relu/fast", 12'500, 25'000);
  row.entry.submission.tags = {{"model", "m2"}, {"turn", ""}};
  EXPECT_THAT(shown({.columns = "label,tag.model,tag.turn,tag.none"}, row), ElementsAre("relu/fast,m2,,\n"));
  EXPECT_TRUE(keeps("tag.model=m2", row));
  EXPECT_TRUE(keeps("tag.model~m", row));
  EXPECT_TRUE(keeps("tag.none=", row));
  EXPECT_FALSE(keeps("tag.model=m1", row));
  EXPECT_THAT(error_message({.columns = "tag."}), HasSubstr("tag.NAME is the value of a tag"));
  EXPECT_THAT(error_message({.columns = "tag.a,tag.a"}), HasSubstr("--columns names tag.a twice"));
}

TEST(selection, numbers_are_compared_as_numbers_and_texts_as_texts) {
  const RunRow row = passed_row("relu/fast", 10'000, 95'000);
  for (const char* held : {"speedup>2", "speedup>=9.5", "speedup<10", "verdict=passed", "verdict!=crashed",
                           "label~fast", "submitted_at<2024", "hint=", "build_cached=false"})
    EXPECT_TRUE(keeps(held, row)) << held;
  for (const char* broken : {"speedup>10", "verdict=crashed", "label~slow", "submitted_at>2024", "label=", "hint~x"})
    EXPECT_FALSE(keeps(broken, row)) << broken;
}

TEST(selection, tags_are_compared_as_numbers_where_both_sides_are_numbers) {
  RunRow row = passed_row("relu/fast", 12'500, 25'000);
  row.entry.submission.tags = {{"n", "9"}, {"logp", "-1.5"}, {"seed", "12345678901234567890"}, {"model", "v9"}};
  for (const char* held : {"tag.n<10", "tag.n<=9.0", "tag.n>-1", "tag.n>=+9", "tag.n=9.0", "tag.n!=10", "tag.n~9",
                           "tag.logp>-2", "tag.logp<-1", "tag.logp=-1.50", "tag.model>v10", "tag.model<w", "tag.n<x",
                           "tag.seed=12345678901234567890", "tag.seed>9"})
    EXPECT_TRUE(keeps(held, row)) << held;
  for (const char* broken : {"tag.n>=10", "tag.n!=9.0", "tag.n=90", "tag.logp>0", "tag.model=9", "tag.none<10",
                             "tag.seed=12345678901234567891"})
    EXPECT_FALSE(keeps(broken, row)) << broken;
}

TEST(selection, an_unknown_value_fails_every_comparison) {
  const RunRow row = queued_row("relu/later");
  EXPECT_FALSE(keeps("speedup<10", row));
  EXPECT_FALSE(keeps("verdict=passed", row));
  EXPECT_TRUE(keeps("verdict!=passed", row));
  EXPECT_TRUE(keeps("verdict=", row));
}

TEST(selection, since_is_compared_with_the_latest_event) {
  const RunRow row = passed_row("relu/fast", 1, 2);  // finished 8 s before now
  EXPECT_EQ(shown({.since = "10s"}, row).size(), 1u);
  EXPECT_EQ(shown({.since = "5s"}, row).size(), 0u);
  EXPECT_EQ(shown({.since = "2023-11-14T22:13:22Z"}, row).size(), 1u);
  EXPECT_EQ(shown({.since = "2023-11-14T22:13:23Z"}, row).size(), 0u);
}

TEST(selection, samples_are_selected_one_by_one) {
  RunRow row = passed_row("relu/fast", 1'000, 2'000);
  row.result->samples = {.submission_ns = {1'000, 3'000}, .reference_ns = {2'000}};
  EXPECT_THAT(shown({.level = "sample", .columns = "label,side,sample_us"}, row),
              ElementsAre("relu/fast,submission,1\n", "relu/fast,submission,3\n", "relu/fast,reference,2\n"));
  EXPECT_THAT(shown({.level = "sample", .columns = "label,sample_us", .where = {"side=reference"}}, row),
              ElementsAre("relu/fast,2\n"));
  EXPECT_THAT(shown({.level = "sample", .columns = "sample_us", .where = {"verdict=crashed"}}, row), ElementsAre());
}

TEST(selection, blanks_around_names_and_values_do_not_count) {
  const RunRow row = passed_row("relu/fast", 1'000, 2'000);
  EXPECT_THAT(shown({.columns = " label, verdict ", .where = {"speedup > 1", " verdict = passed "}}, row),
              ElementsAre("relu/fast,passed\n"));
}

TEST(selection, a_mistake_is_one_sentence) {
  EXPECT_THAT(error_message({.columns = "label,speedupp"}),
              HasSubstr("--columns: there is no column 'speedupp', did you mean speedup?"));
  EXPECT_THAT(error_message({.columns = "label,label"}), HasSubstr("names label twice"));
  EXPECT_THAT(error_message({.columns = "label,"}), HasSubstr("there is no column ''"));
  EXPECT_THAT(error_message({.columns = "sample_us"}),
              HasSubstr("--columns: 'sample_us' is a column of --level sample, not of --level job"));
  EXPECT_THAT(error_message({.where = {"verdict"}}), HasSubstr("--where must be like verdict=passed"));
  EXPECT_THAT(error_message({.where = {"verdict=pased"}}),
              HasSubstr("--where: there is no verdict 'pased'; known are passed, suspect, "));
  EXPECT_THAT(error_message({.where = {"fault!=mine"}}),
              HasSubstr("--where: there is no fault 'mine'; known are none, user, policy, problem, nobody, ours"));
  EXPECT_THAT(error_message({.where = {"state=done"}}),
              HasSubstr("--where: there is no state 'done'; known are queued, leased, finished"));
  EXPECT_THAT(error_message({.where = {"speedup>fast"}}), HasSubstr("--where: speedup is a number, got 'fast'"));
  EXPECT_THAT(error_message({.where = {"speedup>>2"}}), HasSubstr("--where: speedup is a number, got '>2'"));
  EXPECT_THAT(error_message({.where = {"speedup>nan"}}), HasSubstr("--where: speedup is a number, got 'nan'"));
  EXPECT_THAT(error_message({.where = {"build_cached=yes"}}),
              HasSubstr("--where: build_cached is true or false, got 'yes'"));
  EXPECT_THAT(error_message({.where = {"verdit=passed"}}), HasSubstr("did you mean verdict?"));
  EXPECT_THAT(error_message({.since = "yesterday"}), HasSubstr("--since must be like 2h"));
  EXPECT_THAT(error_message({.level = "kernel"}), HasSubstr("--level must be one of job, case, sample"));
}

}  // namespace
}  // namespace kq::tools
