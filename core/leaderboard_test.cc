#include "core/leaderboard.h"

#include <set>

#include <gtest/gtest.h>

namespace kq {
namespace {

LeaderboardRow row(const std::string& problem, const std::string& device_model, Sequence seq, double median_ns,
                   double speedup = 1) {
  LeaderboardRow row;
  row.problem = problem;
  row.problem_hash = sha256(problem);
  row.device_model = device_model;
  row.seq = seq;
  row.median_ns = median_ns;
  row.speedup = speedup;
  return row;
}

std::vector<LeaderboardRow> with_speedups(const std::vector<double>& speedups) {
  std::vector<LeaderboardRow> rows;
  for (const double speedup : speedups) rows.push_back(row("p" + std::to_string(rows.size()), "H200", 1, 1, speedup));
  return rows;
}

std::vector<Sequence> sequences(const std::vector<LeaderboardRow>& rows) {
  std::vector<Sequence> seqs;
  for (const LeaderboardRow& each : rows) seqs.push_back(each.seq);
  return seqs;
}

TEST(Leaderboard, a_faster_row_replaces_the_best_one_and_an_equal_row_does_not) {
  EXPECT_TRUE(is_better(row("p", "H200", 2, 9), row("p", "H200", 1, 10)));
  EXPECT_FALSE(is_better(row("p", "H200", 2, 10), row("p", "H200", 1, 10)));
  EXPECT_FALSE(is_better(row("p", "H200", 2, 11), row("p", "H200", 1, 10)));
}

TEST(Leaderboard, keeps_the_best_row_of_each_problem_and_device_in_order) {
  const std::vector<LeaderboardRow> passed = {row("b", "H200", 1, 10), row("b", "H200", 2, 5), row("b", "H200", 3, 7),
                                              row("a", "H200", 4, 3),  row("a", "H100", 5, 9), row("a", "H200", 6, 3)};
  EXPECT_EQ(sequences(best_of(passed)), (std::vector<Sequence>{5, 4, 2}));
}

TEST(Leaderboard, a_changed_reference_is_another_problem_under_the_same_name) {
  LeaderboardRow slowed_down = row("a", "H200", 2, 1);
  slowed_down.problem_hash = sha256("another reference");
  const std::vector<LeaderboardRow> passed = {row("a", "H200", 1, 10), slowed_down};
  EXPECT_EQ(best_of(passed).size(), 2u);
}

Passed timed(double median_ns) {
  Passed passed;
  passed.measurement.submission = {.sample_count = 5, .median_ns = median_ns};
  passed.measurement.reference = {.sample_count = 5, .median_ns = 2 * median_ns};
  return passed;
}

std::optional<LeaderboardRow> row_of_verdict(const Verdict& verdict) {
  Result result;
  result.verdict = verdict;
  result.device.model = "H200";
  Submission submission;
  submission.label = "relu/fast";
  return board_row(submission, result, 7, 8);
}

TEST(BoardRow, stands_for_a_passed_and_timed_job) {
  const auto row = row_of_verdict(timed(10));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->label, "relu/fast");
  EXPECT_EQ(row->device_model, "H200");
  EXPECT_EQ(row->seq, 7u);
  EXPECT_EQ(row->finished_at_ms, 8);
  EXPECT_EQ(row->median_ns, 10);
  EXPECT_EQ(row->speedup, 2);
}

TEST(BoardRow, of_a_decoy_is_flagged_and_missing_where_the_problem_asks_for_own_kernels) {
  Result result;
  result.verdict = timed(10);
  result.kernels_ran = KernelsRan{.calls = 1, .is_decoy = true};
  const auto row = board_row(Submission{}, result, 7, 8);
  ASSERT_TRUE(row);
  EXPECT_TRUE(row->is_decoy);
  result.kernels_ran->are_own_wanted = true;
  EXPECT_FALSE(board_row(Submission{}, result, 7, 8));
  result.kernels_ran->is_decoy = false;
  EXPECT_TRUE(board_row(Submission{}, result, 7, 8));
}

TEST(BoardRow, says_whether_the_guard_has_findings) {
  Result result;
  result.verdict = timed(10);
  EXPECT_FALSE(board_row(Submission{}, result, 7, 8)->has_findings);
  result.findings = {{.rule = "patches_torch", .place = "a.py:1"}};
  EXPECT_TRUE(board_row(Submission{}, result, 7, 8)->has_findings);
}

TEST(BoardHash, differs_where_streams_or_graphs_are_allowed) {
  Problem problem;
  problem.hash = sha256("problem");
  const std::set<Hash> boards{problem.hash, board_hash(problem, Streams::joined),
                              board_hash(problem, {}, Graphs::allow),
                              board_hash(problem, Streams::joined, Graphs::allow)};
  EXPECT_EQ(boards.size(), 4u);
  EXPECT_EQ(board_hash(problem), problem.hash);
}

TEST(BoardRow, is_missing_where_the_verdict_does_not_rank_or_nothing_was_timed) {
  EXPECT_FALSE(row_of_verdict(Suspect{timed(10).measurement, {}, {}}));
  EXPECT_FALSE(row_of_verdict(ended(VerdictName::wrong_answer, {})));
  EXPECT_FALSE(row_of_verdict(Passed{})) << "a median of 0 ns would be the best time for ever";
}

TEST(BoardHash, is_the_hash_of_the_source_unless_the_problem_has_tolerances_or_a_precision) {
  Problem problem;
  problem.hash = sha256("source");
  EXPECT_EQ(board_hash(problem), problem.hash);
  Problem loose = problem;
  loose.rtol = 1;
  Problem looser = loose;
  looser.atol = 1;
  Problem half = problem;
  half.precision = Precision::fp16;
  EXPECT_EQ(std::set({board_hash(problem), board_hash(loose), board_hash(looser), board_hash(half)}).size(), 4u);
}

TEST(Leaderboard, of_nothing_is_empty) {
  EXPECT_TRUE(best_of({}).empty());
}

TEST(GeometricMean, is_the_root_of_the_product) {
  EXPECT_DOUBLE_EQ(geometric_mean_speedup(with_speedups({2, 8})), 4);
  EXPECT_DOUBLE_EQ(geometric_mean_speedup(with_speedups({0.5, 2})), 1);
}

TEST(GeometricMean, leaves_out_rows_without_a_speedup) {
  EXPECT_DOUBLE_EQ(geometric_mean_speedup(with_speedups({2, 0, 8})), 4);
  EXPECT_EQ(geometric_mean_speedup(with_speedups({0})), 0);
  EXPECT_EQ(geometric_mean_speedup({}), 0);
}

TEST(GeometricMean, does_not_overflow) {
  EXPECT_NEAR(geometric_mean_speedup(with_speedups(std::vector<double>(1'000, 1e300))), 1e300, 1e290);
}

TEST(FastP, counts_problems_solved_strictly_faster_than_p_times_the_reference) {
  const auto best = with_speedups({0.5, 1, 1.5, 2});
  EXPECT_EQ(fast_p(best, 8, 0), 0.5);
  EXPECT_EQ(fast_p(best, 8, 0.5), 0.375);
  EXPECT_EQ(fast_p(best, 8, 1), 0.25);
  EXPECT_EQ(fast_p(best, 8, 2), 0);
}

TEST(FastP, of_zero_counts_a_solved_problem_without_a_time) {
  EXPECT_EQ(fast_p(with_speedups({0}), 2, 0), 0.5);
}

TEST(FastP, of_no_problems_is_zero) {
  EXPECT_EQ(fast_p({}, 0, 1), 0);
}

}  // namespace
}  // namespace kq
