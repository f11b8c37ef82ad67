#include "tools/kernelbench/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tools/exporters/testing.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

using ::testing::ElementsAre;
using P = std::pair<double, double>;
using Added = KernelBenchFigures::Added;

RunRow sample(std::uint32_t level, std::uint32_t problem, std::uint32_t sample_id, RunRow row) {
  row.entry.submission.label =
      "level_" + std::to_string(level) + "_problem_" + std::to_string(problem) + "_sample_" + std::to_string(sample_id);
  row.entry.submission.problem.file = std::to_string(problem) + "_p.py";
  return row;
}
RunRow right(std::uint32_t problem, std::uint32_t sample_id, double ns, double reference_ns) {
  return sample(1, problem, sample_id, passed_row("x", ns, reference_ns));
}
RunRow wrong(std::uint32_t problem, std::uint32_t sample_id) {
  return sample(1, problem, sample_id, ended_row("x", VerdictName::wrong_answer, evidence_at(Stage::judge)));
}
KernelBenchFigures gathered(const std::vector<RunRow>& rows) {
  KernelBenchFigures figures;
  for (const RunRow& row : rows) figures.add(row, false);
  return figures;
}

TEST(kernelbench_figures, pass_at_k_is_the_unbiased_estimator) {
  EXPECT_EQ(pass_at_k(1, 1, 1), 1);
  EXPECT_EQ(pass_at_k(1, 0, 1), 0);
  EXPECT_DOUBLE_EQ(pass_at_k(4, 2, 1), 0.5);
  EXPECT_DOUBLE_EQ(pass_at_k(4, 2, 2), 1 - 1.0 / 6);
  EXPECT_EQ(pass_at_k(4, 2, 3), 1);
}

TEST(kernelbench_figures, pooled_times_are_those_of_all_samples_together) {
  const std::vector<std::int64_t> a{1'000, 2'000, 6'000}, b{3'000, 5'000};
  std::vector<std::int64_t> both = a;
  both.insert(both.end(), b.begin(), b.end());
  const Statistics want = summarise(both), got = pooled(summarise(a), summarise(b));
  EXPECT_EQ(got.sample_count, 5u);
  EXPECT_DOUBLE_EQ(got.mean_ns, want.mean_ns);
  EXPECT_DOUBLE_EQ(got.std_ns, want.std_ns);
  EXPECT_EQ(got.min_ns, want.min_ns);
  EXPECT_EQ(got.max_ns, want.max_ns);
  EXPECT_EQ(pooled({}, summarise(b)), summarise(b));
}

TEST(kernelbench_figures, rates_and_fast_p_are_of_sample_0_over_all_problems) {
  const auto figures = gathered(
      {right(1, 0, 1e6, 2e6), right(2, 0, 1e6, 0.9e6), right(2, 1, 0.1e6, 0.9e6), wrong(3, 0), right(3, 1, 1e6, 9e6)});
  const KernelBenchLevel level = figures.level(1);
  EXPECT_EQ(level.problem_count, 3u);
  EXPECT_EQ(level.compiled_count, 3u);
  EXPECT_EQ(level.correct_count, 2u);
  EXPECT_DOUBLE_EQ(level.geometric_mean_speedup, std::sqrt(2 * 0.9));
  EXPECT_THAT(level.fast_p,
              ElementsAre(P{0, 2. / 3}, P{0.5, 2. / 3}, P{0.8, 2. / 3}, P{1, 1. / 3}, P{1.5, 1. / 3}, P{2, 0}));
}

TEST(kernelbench_figures, a_product_of_ten_thousand_speedups_does_not_overflow) {
  KernelBenchFigures figures;
  for (std::uint32_t i = 1; i <= 10'000; ++i) figures.add(right(i, 0, 1, 1e3), false);
  EXPECT_NEAR(figures.level(1).geometric_mean_speedup, 1e3, 1e-6);
}

TEST(kernelbench_figures, a_whole_level_counts_problems_that_the_run_lacks) {
  const auto figures = gathered({right(1, 0, 1e6, 2e6)});
  const KernelBenchBaseline baseline{{1, {{"1_p.py", 3.0}, {"2_p.py", std::nullopt}, {"9_p.py", 1.0}}}};
  EXPECT_EQ(figures.level(1).problem_count, 1u);
  EXPECT_EQ(figures.level(1, nullptr, true).problem_count, 100u);
  EXPECT_EQ(figures.level(1).fast_p[0], P(0, 1));
  EXPECT_EQ(figures.level(1, nullptr, true).fast_p[0], P(0, 0.01));
  EXPECT_EQ(figures.level(1, &baseline).fast_p[0], P(0, 1));
  EXPECT_EQ(figures.level(1, &baseline, true).fast_p[0], P(0, 1. / 3));
  EXPECT_DOUBLE_EQ(figures.level(1, &baseline).geometric_mean_speedup, 3);
}

TEST(kernelbench_figures, add_returns_why_a_row_is_not_counted) {
  KernelBenchFigures figures;
  EXPECT_EQ(figures.add(right(1, 0, 1, 2), false).added, Added::result);
  EXPECT_EQ(figures.add(right(1, 0, 1, 2), false).added, Added::older_result);
  RunRow newer = right(1, 0, 1, 2);
  newer.job.seq = 2;
  EXPECT_EQ(figures.add(newer, false).added, Added::newer_result);
  EXPECT_EQ(figures.add(sample(1, 1, 1, ended_row("x", VerdictName::compiled_only)), false).added,
            Added::only_compiled);
  EXPECT_EQ(figures.add(sample(1, 1, 1, ended_row("x", VerdictName::abandoned)), false).added, Added::no_result);
  EXPECT_EQ(figures.add(sample(1, 1, 1, queued_row("x")), false).added, Added::no_result);
  EXPECT_EQ(figures.add(passed_row("relu/fast", 1, 2), false).added, Added::no_problem);
  RunRow unnumbered = passed_row("mine", 1, 2);
  unnumbered.entry.submission.problem.name = "level1/1_p";
  EXPECT_EQ(figures.add(unnumbered, false).sample, 1u);  // the next free number
}

TEST(kernelbench_figures, the_newer_of_two_rows_of_one_sample_counts) {
  const auto job = [](Sequence seq, RunRow row) {
    row.job.seq = row.entry.seq = seq;
    return row;
  };
  for (const bool newer_is_first : {true, false}) {
    std::vector<RunRow> rows{job(7, right(1, 0, 1e6, 2e6)), job(3, wrong(1, 0))};
    if (!newer_is_first) std::swap(rows[0], rows[1]);
    const auto figures = gathered(rows);
    const KernelBenchProblem& problem = *figures.problems().front();
    EXPECT_EQ(problem.sample_count, 1u);
    EXPECT_EQ(problem.correct_count, 1u);
    EXPECT_EQ(problem.correct_0, true);
    EXPECT_EQ(KernelBenchFigures::speedup_0(problem, nullptr), 2);
  }
}

TEST(kernelbench_figures, pass_at_k_results_have_the_form_of_kernelbench) {
  const auto figures = gathered({right(1, 0, 1, 2), wrong(1, 1), wrong(2, 0), wrong(2, 1)});
  EXPECT_EQ(producer::to_text(figures.pass_at_k_results(1, {1, 5})),
            R"({"averages": {"avg_pass@1": 0.25, "avg_pass@5": 0.0}, "metadata": {"total_problems": 2, )"
            R"("problems_with_samples": 2, )"
            R"("total_evaluated_samples": 4, "total_correct_samples": 1, "pass@1_count": 2, "pass@5_count": 0}, )"
            R"("problems": {"1": {"total_samples": 2, "correct_samples": 1, "pass@1": 0.5, "pass@2": 1.0}, )"
            R"("2": {"total_samples": 2, "correct_samples": 0, "pass@1": 0.0, "pass@2": 0.0}}})");
}

TEST(kernelbench_figures, problems_with_fewer_than_k_samples_are_counted) {
  const auto figures = gathered({right(1, 0, 1, 2), wrong(1, 1), wrong(2, 0), sample(1, 3, 0, queued_row("x"))});
  EXPECT_THAT(
      figures.pass_at_k_warnings(1, {1, 2, 5}),
      ElementsAre(
          "level 1: 1 of 2 problems have fewer than 2 samples, which counts as 0 in pass@2, as in KernelBench",
          "level 1: 2 of 2 problems have fewer than 5 samples, which counts as 0 in pass@5, as in KernelBench"));
}

TEST(kernelbench_figures, baseline_files_may_lack_values) {
  const ExportFolder folder;
  const auto read = [&](const char* text) {
    std::ofstream(folder / "b.json") << text;
    return read_kernelbench_baseline((folder / "b.json").string());
  };
  const auto baseline =
      read(R"({"level1": {"1_p.py": {"mean": 2.5, "std": 0}, "2_p.py": null, "3_p.py": {"mean": null}}, )"
           R"("level2": {"1_q.py": {"mean": 3}}})");
  ASSERT_TRUE(baseline) << baseline.error().message;
  EXPECT_EQ(baseline->at(1).at("1_p.py"), 2.5);
  EXPECT_EQ(baseline->at(1).at("2_p.py"), std::nullopt);
  EXPECT_EQ(baseline->at(1).at("3_p.py"), std::nullopt);
  EXPECT_EQ(baseline->at(2).at("1_q.py"), 3);
  for (const char* broken : {"[]", "{", R"({"level1": 3})", R"({"x": {}})"}) EXPECT_FALSE(read(broken)) << broken;
  EXPECT_FALSE(read_kernelbench_baseline((folder / "gone.json").string()));
}

TEST(kernelbench_figures, values_of_k_are_distinct_positive_numbers) {
  EXPECT_THAT(*parse_pass_at_k("1,5,10"), ElementsAre(1, 5, 10));
  for (const char* broken : {"", "0", "1,", "1,1", "x", "-1", "1.5"}) EXPECT_FALSE(parse_pass_at_k(broken)) << broken;
}

}  // namespace
}  // namespace kq::tools
