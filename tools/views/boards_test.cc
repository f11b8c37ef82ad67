#include "tools/views/boards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing.h"
#include "tools/views/board_formats.h"
#include "tools/views/testing.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

TEST(boards, the_best_row_of_each_problem_is_kept) {
  const Leaderboard board = example();
  ASSERT_EQ(board.rows.size(), 1u);
  EXPECT_EQ(board.rows[0].row.label, "relu/fast");
  EXPECT_EQ(board.rows[0].row.speedup, 2);
  EXPECT_EQ(board.problem_count, 2u);
}

TEST(boards, one_problem_may_be_shown_alone) {
  RunRow other = passed_row("b", 30, 60, 2);
  other.entry.submission.problem.name = "softmax";
  LeaderboardBuilder builder("r", {.problem = "softmax"});
  builder.add(passed_row("a", 10, 20, 1));
  builder.add(other);
  const Leaderboard board = builder.finish();
  EXPECT_EQ(board.problem_count, 1u);
  ASSERT_EQ(board.rows.size(), 1u);
  EXPECT_EQ(board.rows[0].row.label, "b");
}

// Problems whose files are equal are one board of the broker, under the name of the first place.
TEST(boards, the_other_names_of_a_problem_are_told) {
  const auto named = [](RunRow row, const std::string& name, const std::string& file) {
    row.entry.submission.problem.name = name;
    row.entry.submission.problem.hash = sha256(file);
    return row;
  };
  LeaderboardBuilder builder("", {.problem = "mine_tanh"});
  builder.add(named(passed_row("b", 10, 60, 2), "other_name", "tanh"));
  builder.add(named(passed_row("a", 30, 60, 1), "mine_tanh", "tanh"));
  builder.add(named(passed_row("c", 10, 60, 3), "relu", "relu"));
  builder.add(named(queued_row("d", 4), "third_name", "tanh"));
  const Leaderboard board = builder.finish();
  EXPECT_EQ(board.rows.size(), 1u);
  EXPECT_THAT(board.other_names, ::testing::ElementsAre("other_name"));
  EXPECT_EQ(
      other_names_text(board.other_names),
      "kernels of the same problem were also sent as other_name and are not listed here; kq leaderboard --problem "
      "other_name lists them, and kq leaderboard names the fastest of all");
}

TEST(boards, problems_that_their_own_programs_time_do_not_count_in_the_figures) {
  RunRow reported = passed_row("popcorn/add", 10, 0, 2);
  reported.entry.submission.problem.name = "popcorn/add@self_reported";
  reported.entry.submission.problem.hash = sha256("program");
  reported.entry.submission.backend = Backend::eval_program;
  LeaderboardBuilder builder("r");
  builder.add(passed_row("a", 30, 60, 1));
  builder.add(reported);
  const Leaderboard board = builder.finish();
  EXPECT_EQ(board.rows.size(), 2u);
  EXPECT_EQ(board.problem_count, 2u);
  EXPECT_EQ(board.referenced_count, 1u);
  ASSERT_EQ(board.summaries().size(), 1u);
  EXPECT_EQ(board.summaries()[0].problem_count, 1u);
  EXPECT_EQ(board.summaries()[0].solved_count, 1u);
  EXPECT_EQ(board.summaries()[0].fast_p[3], (std::pair<double, double>(1, 1)));
}

TEST(boards, unsolved_problems_count_in_fast_p) {
  const auto summaries = example().summaries();
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].geometric_mean_speedup, 2);
  using P = std::pair<double, double>;
  EXPECT_THAT(summaries[0].fast_p,
              ::testing::ElementsAre(P{0, 0.5}, P{0.5, 0.5}, P{0.8, 0.5}, P{1, 0.5}, P{1.5, 0.5}, P{2, 0}));
}

TEST(boards, a_run_in_which_nothing_passed_has_a_summary_too) {
  RunRow wrong = ended_row("relu/wrong", VerdictName::wrong_answer, evidence("value"));
  wrong.entry.submission.author = "ada";
  const auto summaries = built({wrong, ended_row("gelu/gone", VerdictName::cancelled)}).summaries();
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].device_model, "Test CPU");
  EXPECT_EQ(summaries[0].problem_count, 2u);
  EXPECT_EQ(summaries[0].solved_count, 0u);
  EXPECT_EQ(summaries[0].fast_p.front(), (std::pair<double, double>(0, 0)));
  EXPECT_THAT(producer::to_text(leaderboard_json(built({wrong}))),
              HasSubstr("\"solved_n\": 0, \"geometric_mean_speedup\": null, \"fast_p\": {\"0\": 0"));
  LeaderboardBuilder by_author("r1", {.by = "author"});
  by_author.add(wrong);
  EXPECT_EQ(by_author.finish().summaries().front().value, "ada");
}

TEST(boards, device_models_are_not_mixed) {
  RunRow other = passed_row("relu/other", 5'000, 20'000, 5);
  other.result->device.model = "Another CPU";
  const auto summaries = built({passed_row("relu/fast", 10'000, 20'000), other}).summaries();
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].device_model, "Another CPU");
  EXPECT_EQ(summaries[0].geometric_mean_speedup, 4);
  EXPECT_EQ(summaries[1].geometric_mean_speedup, 2);
}

TEST(boards, baselines_are_not_mixed) {
  RunRow compiled = passed_row("relu/compiled", 5'000, 10'000, 5);
  compiled.entry.submission.trials.baseline = Baseline::compile;
  const Leaderboard board = built({passed_row("relu/eager", 10'000, 40'000), compiled});
  ASSERT_EQ(board.rows.size(), 2u);
  const auto summaries = board.summaries();
  ASSERT_EQ(summaries.size(), 2u);
  EXPECT_EQ(summaries[0].geometric_mean_speedup, 4);
  EXPECT_EQ(summaries[0].problem_count, 1u);
  EXPECT_EQ(summaries[1].geometric_mean_speedup, 2);
  const std::string text = leaderboard_table(board);
  EXPECT_THAT(text, HasSubstr("  compile  "));
  EXPECT_THAT(text, HasSubstr("Test CPU compared with the reference under torch.compile: 1 of 1 problem solved"));
}

TEST(boards, jobs_of_few_samples_do_not_rank) {
  RunRow lucky = passed_row("relu/lucky", 1, 20'000, 2);
  std::get<Passed>(lucky.result->verdict).measurement.submission.sample_count = 1;
  const Leaderboard board = built({passed_row("relu/first", 10'000, 20'000, 1), lucky});
  ASSERT_EQ(board.rows.size(), 1u);
  EXPECT_EQ(board.rows[0].row.label, "relu/first");
}

TEST(boards, a_large_run_has_the_same_rows) {
  std::vector<RunRow> rows;
  for (Sequence i = 1; i <= 10'000; ++i) {
    rows.push_back(
        passed_row((i % 2 == 0 ? "relu/" : "gelu/") + std::to_string(i), i >= 9'999 ? 5'000.0 : 50'000.0, 50'000, i));
  }
  const Leaderboard board = built(rows);
  ASSERT_EQ(board.rows.size(), 2u);
  EXPECT_EQ(board.rows[0].row.label, "gelu/9999");
  EXPECT_EQ(board.rows[1].row.label, "relu/10000");
}

TEST(boards, rows_with_findings_are_marked_and_left_out_on_request) {
  RunRow fast = passed_row("relu/fast", 10'000, 20'000, 2);
  fast.result->findings = {{.rule = "patches_torch", .place = "relu.py:3"}};
  EXPECT_THAT(leaderboard_table(built({fast})), HasSubstr("torch (findings)"));
  LeaderboardBuilder builder("r1", {.leaves_out_findings = true});
  builder.add(fast);
  builder.add(passed_row("relu/slow", 20'000, 20'000, 1));
  const Leaderboard board = builder.finish();
  ASSERT_EQ(board.rows.size(), 1u);
  EXPECT_EQ(board.rows[0].row.label, "relu/slow");
  EXPECT_EQ(board.left_out_count, 1u);
}

// Returns a passed job of a model for the problem relu, whose speedup is 100 us / `median_us`.
RunRow of_model(const std::string& label, Sequence seq, double median_us, const std::string& model) {
  RunRow row = passed_row("relu/" + label, median_us * 1e3, 100e3, seq);
  row.entry.submission.tags = {{"model", model}};
  return row;
}

TEST(boards, each_value_of_a_tag_has_boards_and_figures_of_its_own) {
  LeaderboardBuilder builder("", {.by = "tag.model"});
  builder.add(of_model("a", 1, 50, "m10"));
  builder.add(of_model("b", 2, 25, "m10"));
  builder.add(of_model("c", 3, 200, "m2"));
  builder.add(passed_row("relu/d", 100e3, 100e3, 4));
  const auto summaries = builder.finish().summaries();
  ASSERT_EQ(summaries.size(), 3u);
  EXPECT_EQ(summaries[0].value, "-");
  EXPECT_EQ(summaries[1].value, "m2");
  EXPECT_EQ(summaries[1].geometric_mean_speedup, 0.5);
  EXPECT_EQ(summaries[2].value, "m10");
  EXPECT_EQ(summaries[2].geometric_mean_speedup, 4);
}

// A source of one run with these rows.
class RowsSource final : public Source {
 public:
  explicit RowsSource(std::vector<RunRow> rows) : rows_(std::move(rows)) {}
  Expected<RunReply> run_page(const RunQuery&) override { return RunReply{.rows = rows_}; }
  Expected<BoardReply> board_page(const BoardQuery&) override { return BoardReply{}; }

 private:
  std::vector<RunRow> rows_;
};

TEST(boards, a_tag_that_no_kernel_has_is_an_error_that_lists_the_tags) {
  RowsSource source({of_model("a", 1, 50, "m10"), passed_row("relu/d", 100e3, 100e3, 2)});
  EXPECT_TRUE(leaderboard_of_runs(source, "r1", {.by = "tag.model"}));
  const auto board = leaderboard_of_runs(source, "r1", {.by = "tag.none"});
  ASSERT_FALSE(board);
  EXPECT_EQ(board.error(), (Error{ErrorKind::not_found, "no kernel has the tag 'none'; there are model"}));
  RowsSource bare({passed_row("relu/d", 100e3, 100e3, 2)});
  EXPECT_EQ(leaderboard_of_runs(bare, "r1", {.by = "tag.none"}).error().message,
            "no kernel has the tag 'none'; none has any tag");
}

TEST(boards, an_unknown_column_is_refused) {
  EXPECT_TRUE(validate(BoardOptions{.by = "tag.model"}));
  EXPECT_FALSE(validate(BoardOptions{.by = "tag."}));
  EXPECT_EQ(validate(BoardOptions{.by = "speedup"}).error().message,
            "--by must be author, backend or tag.NAME, got 'speedup'");
}

}  // namespace
}  // namespace kq::tools
