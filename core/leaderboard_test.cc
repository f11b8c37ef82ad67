#include "core/leaderboard.h"

#include <limits>
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
  row.kernel_hash = sha256(std::to_string(seq));
  row.median_ns = median_ns;
  row.speedup = speedup;
  return row;
}

std::vector<LeaderboardRow> with_speedups(const std::vector<double>& speedups) {
  std::vector<LeaderboardRow> rows;
  for (const double speedup : speedups) rows.push_back(row("p" + std::to_string(rows.size()), "H200", 1, 1, speedup));
  return rows;
}

std::vector<Sequence> sequences(const std::vector<RankedRow>& rows) {
  std::vector<Sequence> seqs;
  for (const RankedRow& each : rows) seqs.push_back(each.seq);
  return seqs;
}

TEST(Leaderboard, a_faster_row_replaces_the_best_one_and_an_equal_row_does_not) {
  EXPECT_TRUE(is_better(row("p", "H200", 2, 9), row("p", "H200", 1, 10), 2));
  EXPECT_FALSE(is_better(row("p", "H200", 2, 10), row("p", "H200", 1, 10), 2));
  EXPECT_FALSE(is_better(row("p", "H200", 2, 11), row("p", "H200", 1, 10), 2));
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
  Submission plain;
  plain.problem.hash = sha256("problem");
  Submission joined = plain, graphs = plain, both = plain;
  joined.trials.streams = both.trials.streams = Streams::joined;
  graphs.trials.graphs = both.trials.graphs = Graphs::allow;
  const std::set<Hash> boards{board_hash(plain), board_hash(joined), board_hash(graphs), board_hash(both)};
  EXPECT_EQ(boards.size(), 4u);
  EXPECT_EQ(board_hash(plain), plain.problem.hash);
}

TEST(BoardRow, is_missing_where_the_verdict_does_not_rank_or_nothing_was_timed) {
  EXPECT_FALSE(row_of_verdict(Suspect{timed(10).measurement, {}, {}}));
  EXPECT_FALSE(row_of_verdict(ended(VerdictName::wrong_answer, {})));
  EXPECT_FALSE(row_of_verdict(Passed{})) << "a median of 0 ns would be the best time for ever";
}

TEST(BoardRow, needs_enough_samples_of_both_sides) {
  Passed passed = timed(10);
  passed.measurement.submission.sample_count = kRankSamplesMin - 1;
  EXPECT_FALSE(row_of_verdict(passed));
  passed = timed(10);
  passed.measurement.reference.sample_count = kRankReferenceSamplesMin - 1;
  EXPECT_FALSE(row_of_verdict(passed));
}

TEST(BoardHash, is_the_hash_of_the_source_unless_something_else_decides_what_is_compared) {
  Submission plain;
  plain.problem.hash = sha256("source");
  EXPECT_EQ(board_hash(plain), plain.problem.hash);
  Submission loose = plain;
  loose.problem.rtol = 1;
  Submission looser = loose;
  looser.problem.atol = 1;
  Submission half = plain;
  half.problem.precision = Precision::fp16;
  Submission compiled = plain;
  compiled.trials.baseline = Baseline::compile;
  EXPECT_EQ(std::set({board_hash(plain), board_hash(loose), board_hash(looser), board_hash(half), board_hash(compiled)})
                .size(),
            5u);
}

TEST(KernelHash, is_that_of_the_file_or_of_all_files) {
  Submission one;
  one.files = {{"a.py", sha256("a")}};
  EXPECT_EQ(kernel_hash(one), sha256("a"));
  Submission two = one;
  two.files.push_back({"b.cu", sha256("b")});
  Submission other = one;
  other.files.push_back({"b.cu", sha256("c")});
  EXPECT_EQ(std::set({kernel_hash(one), kernel_hash(two), kernel_hash(other)}).size(), 3u);
}

// A row of a kernel that was measured with these medians and noises.
LeaderboardRow measured(const std::string& kernel, const std::vector<std::pair<double, double>>& runs,
                        Sequence first_seq = 1) {
  LeaderboardRow all;
  for (const auto& [median_ns, noise_ns] : runs) {
    LeaderboardRow one = row("p", "H200", first_seq, median_ns);
    one.kernel_hash = sha256(kernel);
    one.noise_ns = noise_ns;
    one.sample_count = 20;
    one.runs = {{.seq = first_seq++,
                 .median_ns = median_ns,
                 .reference_ns = 100,
                 .noise_ns = noise_ns,
                 .reference_noise_ns = noise_ns}};
    if (all.runs.empty()) all = one;
    add_runs(all, one);
  }
  return all;
}

TEST(KernelFigure, is_the_median_over_all_runs_and_no_rerun_lowers_it_by_selection) {
  LeaderboardRow figure = measured("k", {{100, 10}});
  EXPECT_EQ(figure.median_ns, 100);
  EXPECT_EQ(figure.noise_ns, 10);
  EXPECT_EQ(figure.speedup, 1);
  figure = measured("k", {{100, 10}, {60, 10}, {102, 10}});
  EXPECT_EQ(figure.median_ns, 100) << "one lucky run changes nothing";
  EXPECT_EQ(figure.sample_count, 60u);
  EXPECT_EQ(figure.runs.size(), 3u);
}

TEST(KernelFigure, reruns_narrow_the_noise_unless_the_runs_scatter) {
  EXPECT_NEAR(measured("k", {{100, 10}, {101, 10}, {100, 10}, {99, 10}}).noise_ns, 5, 0.1);
  EXPECT_GT(measured("k", {{100, 10}, {150, 10}, {80, 10}, {60, 10}}).noise_ns, 40);
}

TEST(KernelFigure, keeps_a_limited_number_of_runs_and_none_twice) {
  std::vector<std::pair<double, double>> runs(kRunsPerKernelMax + 5, {100, 10});
  runs.back().first = 1;
  LeaderboardRow figure = measured("k", runs);
  EXPECT_EQ(figure.runs.size(), kRunsPerKernelMax);
  const LeaderboardRow before = figure;
  add_runs(figure, measured("k", {{5, 1}}));
  EXPECT_EQ(figure, before) << "job 1 is there already";
}

TEST(Ranks, kernels_within_the_noise_share_a_rank_and_the_earlier_one_comes_first) {
  const std::vector<LeaderboardRow> rows = {measured("first", {{101, 3}}, 1), measured("lucky copy", {{99, 3}}, 2),
                                            measured("slow", {{120, 3}}, 3), measured("slower", {{121, 3}}, 4)};
  const auto ranks = ranked(rows);
  ASSERT_EQ(ranks.size(), 4u);
  EXPECT_EQ(sequences(ranks), (std::vector<Sequence>{1, 2, 3, 4}));
  EXPECT_EQ(ranks[0].rank, 1u);
  EXPECT_EQ(ranks[1].rank, 1u);
  EXPECT_EQ(ranks[0].tie_count, 1u);
  EXPECT_EQ(ranks[2].rank, 3u);
  EXPECT_EQ(ranks[3].rank, 3u);
  EXPECT_EQ(sequences(best_of(rows)), (std::vector<Sequence>{1}));
}

TEST(Ranks, a_kernel_faster_beyond_the_noise_takes_the_first_place) {
  EXPECT_EQ(sequences(best_of(std::vector{measured("first", {{101, 3}}, 1), measured("faster", {{90, 3}}, 2)})),
            (std::vector<Sequence>{2}));
}

TEST(Ranks, a_fast_kernel_of_scattered_times_gives_no_rank_to_a_kernel_that_another_one_beats) {
  const auto ranks = ranked(
      std::vector{measured("slow", {{100, 2}}, 1), measured("exact", {{96, 1}}, 2), measured("lucky", {{95, 10}}, 3)});
  EXPECT_EQ(sequences(ranks), (std::vector<Sequence>{2, 3, 1}));
  EXPECT_EQ(ranks[1].rank, 1u);
  EXPECT_EQ(ranks[2].rank, 3u) << "the lucky run is not faster beyond its noise, but the exact kernel is";
}

TEST(Ranks, no_kernel_has_a_better_rank_than_one_that_beats_it) {
  std::vector<LeaderboardRow> rows;
  for (Sequence seq = 1; seq <= 60; ++seq) {
    const double median_ns = 80 + static_cast<double>(seq * 37 % 41);
    rows.push_back(measured(std::to_string(seq), {{median_ns, 1 + static_cast<double>(seq * 13 % 11)}}, seq));
  }
  const auto ranks = ranked(rows);
  ASSERT_EQ(ranks.size(), rows.size());
  for (const RankedRow& a : ranks) {
    for (const RankedRow& b : ranks) EXPECT_TRUE(!is_better(a, b, 60) || a.rank < b.rank) << a.seq << " and " << b.seq;
  }
}

// Returns these kernels and `count` slow ones of later jobs.
std::vector<LeaderboardRow> beside_slow_ones(std::vector<LeaderboardRow> rows, Sequence count) {
  for (Sequence seq = 100; seq < 100 + count; ++seq) rows.push_back(measured(std::to_string(seq), {{500, 3}}, seq));
  return rows;
}

TEST(Ranks, the_noise_is_that_of_a_comparison_among_all_kernels_of_the_board) {
  const std::vector rows = {measured("first", {{100, 3}}, 1), measured("second", {{106, 3}}, 2)};
  EXPECT_EQ(ranked(rows)[1].rank, 2u);
  const auto of_twenty = ranked(beside_slow_ones(rows, 18));
  EXPECT_EQ(of_twenty[1].seq, 2u);
  EXPECT_EQ(of_twenty[1].rank, 1u) << "the noise of 20 kernels is 1.8 times that of two";
  EXPECT_EQ(of_twenty[2].rank, 3u);
}

TEST(Ranks, slow_kernels_take_no_record_away) {
  const std::vector rows = {measured("first", {{106, 3}}, 1), measured("record", {{100, 3}}, 2)};
  const auto ranks = ranked(beside_slow_ones(rows, 18));
  EXPECT_EQ(ranks[0].seq, 2u);
  EXPECT_EQ(ranks[0].tie_count, 1u);
  EXPECT_EQ(ranks[1].seq, 1u);
}

TEST(Ranks, a_kernel_of_scattered_times_beats_no_other_by_luck) {
  const auto ranks = ranked(std::vector{measured("exact", {{100, 1}}, 1), measured("lucky", {{60, 60}}, 2)});
  EXPECT_EQ(ranks[0].seq, 1u);
  EXPECT_EQ(ranks[0].tie_count, 1u);
}

TEST(Ranks, take_an_infinite_noise_for_a_quarter_of_the_time) {
  const double unknown = std::numeric_limits<double>::infinity();
  EXPECT_EQ(sequences(best_of(std::vector{measured("a", {{100, unknown}}, 1), measured("b", {{60, unknown}}, 2)})),
            (std::vector<Sequence>{2}));
  EXPECT_EQ(sequences(best_of(std::vector{measured("a", {{100, unknown}}, 1), measured("b", {{80, unknown}}, 2)})),
            (std::vector<Sequence>{1}));
}

TEST(Ranks, a_kernel_of_scattered_times_is_not_equal_to_every_other_one) {
  EXPECT_EQ(sequences(best_of(std::vector{measured("scattered", {{200, 1000}}, 1), measured("fast", {{90, 3}}, 2)})),
            (std::vector<Sequence>{2}));
}

TEST(Ranks, merge_the_rows_of_one_kernel) {
  const auto ranks = ranked(std::vector{measured("k", {{50, 3}}, 2), measured("k", {{100, 3}}, 1)});
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].runs.size(), 2u);
  EXPECT_EQ(ranks[0].median_ns, 75);
  EXPECT_EQ(ranks[0].seq, 1u) << "the names are those of the first run";
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
