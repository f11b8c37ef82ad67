#include "tools/views/boards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

Leaderboard built(const std::vector<RunRow>& rows) {
  LeaderboardBuilder builder("r1");
  for (const RunRow& row : rows) builder.add(row);
  return builder.finish();
}

// A board of two problems, of which one is solved twice and the other is not solved.
Leaderboard example() {
  RunRow fast = passed_row("relu/fast", 10'000, 20'000, 2);
  fast.entry.submitter = "ada";
  return built({passed_row("relu/slow", 20'000, 20'000, 1), fast,
                ended_row("gelu/wrong", VerdictName::wrong_answer, evidence("value"), 3), queued_row("relu/later", 4)});
}

TEST(boards, the_best_row_of_each_problem_is_kept) {
  const Leaderboard board = example();
  ASSERT_EQ(board.rows.size(), 1u);
  EXPECT_EQ(board.rows[0].label, "relu/fast");
  EXPECT_EQ(board.rows[0].speedup, 2);
  EXPECT_EQ(board.problem_count, 2u);
}

TEST(boards, unsolved_problems_count_in_fast_p) {
  const auto summaries = example().summaries();
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].geometric_mean_speedup, 2);
  using P = std::pair<double, double>;
  EXPECT_THAT(summaries[0].fast_p,
              ::testing::ElementsAre(P{0, 0.5}, P{0.5, 0.5}, P{0.8, 0.5}, P{1, 0.5}, P{1.5, 0.5}, P{2, 0}));
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

TEST(boards, ties_and_busy_machines_are_marked) {
  RunRow copy = passed_row("relu/copy", 9'950, 20'000, 2);
  std::get<Passed>(copy.result->verdict).measurement.is_noisy = true;
  RunRow first = passed_row("relu/first", 10'000, 20'000, 1);
  std::get<Passed>(first.result->verdict).measurement.is_noisy = true;
  const std::string text = leaderboard_table(built({copy, first}));
  EXPECT_THAT(text, HasSubstr("~10.0 us ±1%"));
  EXPECT_THAT(text, HasSubstr("  relu/first"));
  EXPECT_THAT(text, HasSubstr("ties: other kernels share the first place"));
  EXPECT_THAT(text, HasSubstr("~: the machine was busy"));
}

TEST(boards, jobs_of_few_samples_do_not_rank) {
  RunRow lucky = passed_row("relu/lucky", 1, 20'000, 2);
  std::get<Passed>(lucky.result->verdict).measurement.submission.sample_count = 1;
  const Leaderboard board = built({passed_row("relu/first", 10'000, 20'000, 1), lucky});
  ASSERT_EQ(board.rows.size(), 1u);
  EXPECT_EQ(board.rows[0].label, "relu/first");
}

TEST(boards, a_large_run_has_the_same_rows) {
  std::vector<RunRow> rows;
  for (Sequence i = 1; i <= 10'000; ++i) {
    rows.push_back(
        passed_row((i % 2 == 0 ? "relu/" : "gelu/") + std::to_string(i), i >= 9'999 ? 5'000.0 : 50'000.0, 50'000, i));
  }
  const Leaderboard board = built(rows);
  ASSERT_EQ(board.rows.size(), 2u);
  EXPECT_EQ(board.rows[0].label, "gelu/9999");
  EXPECT_EQ(board.rows[1].label, "relu/10000");
}

TEST(boards, rows_with_findings_are_marked_and_left_out_on_request) {
  RunRow fast = passed_row("relu/fast", 10'000, 20'000, 2);
  fast.result->findings = {{.rule = "patches_torch", .place = "relu.py:3"}};
  EXPECT_THAT(leaderboard_table(built({fast})), HasSubstr("torch (findings)"));
  LeaderboardBuilder builder("r1", true);
  builder.add(fast);
  builder.add(passed_row("relu/slow", 20'000, 20'000, 1));
  const Leaderboard board = builder.finish();
  ASSERT_EQ(board.rows.size(), 1u);
  EXPECT_EQ(board.rows[0].label, "relu/slow");
  EXPECT_EQ(board.left_out_count, 1u);
}

TEST(boards, table_csv_and_json_say_the_same) {
  const Leaderboard board = example();
  EXPECT_EQ(leaderboard_table(board),
            "problem  device         median    reference    speedup  label      backend  author  submitter\n"
            "relu     Test CPU  10.0 us ±1%  20.0 us ±1%  2.00x ±1%  relu/fast  torch            ada\n"
            "Test CPU: 1 of 2 problems solved, geometric mean speedup 2.00x, fast_p 0:0.50 0.5:0.50 0.8:0.50 1:0.50 "
            "1.5:0.50 2:0.00\n");
  EXPECT_EQ(leaderboard_csv(board),
            "problem,problem_hash,device_model,job_id,label,author,backend,median_us,reference_us,speedup,finished_at,"
            "fell_back,submitter,decoy,streams,graphs,findings,baseline,kernel_hash,noise_us,reference_noise_us,"
            "run_count,sample_count,tie_count,noisy\nrelu," +
                to_hex(sha256("relu")) +
                ",Test CPU,2,relu/fast,,torch,10,20,2,2023-11-14T22:13:22.000000Z,false,ada,false,reject,reject,false,"
                "eager," +
                to_hex(sha256("relu/fast")) + ",0.1,0.2,1,20,0,false\n");
  const std::string json = producer::to_text(leaderboard_json(board));
  EXPECT_THAT(json, HasSubstr(R"("median_us": 10.0)"));
  EXPECT_THAT(json, HasSubstr(R"("problems_n": 2)"));
  EXPECT_THAT(json, HasSubstr(R"("1.5": 0.5, "2": 0.0)"));
}

TEST(boards, a_board_without_passed_jobs_says_so) {
  EXPECT_EQ(leaderboard_table(built({})), "no job has passed yet\n");
}

}  // namespace
}  // namespace kq::tools
