#include "gpu_worker/judge/workloads.h"

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

CaseResult passed(const std::string& name, double median_ns, double reference_ns, double weight = 1) {
  Measurement measurement{.method = "clock",
                          .submission = {.sample_count = 5, .median_ns = median_ns},
                          .reference = {.sample_count = 5, .median_ns = reference_ns}};
  return {.workload = name,
          .weight = weight,
          .verdict = Passed{measurement, {.trials_passed = 3, .max_abs_err = median_ns, .max_rel_err = 0.5}},
          .samples = {}};
}

std::vector<std::uint32_t> indices(std::initializer_list<std::string> selections) {
  const std::vector<WorkloadRow> rows{{"small"}, {"large"}, {"large-bf16"}};
  std::vector<Workload> wanted;
  for (const std::string& selection : selections) wanted.push_back({selection});
  const auto found = selected(rows, wanted);
  return found ? *found : std::vector<std::uint32_t>{};
}

TEST(workloads, a_pattern_selects_what_it_fits) {
  EXPECT_TRUE(fits_pattern("n=1024", "n=*"));
  EXPECT_TRUE(fits_pattern("n=1024", "*24"));
  EXPECT_TRUE(fits_pattern("n=1024", "n=10?4"));
  EXPECT_TRUE(fits_pattern("a-b-c", "*-c"));
  EXPECT_TRUE(fits_pattern("", "*"));
  EXPECT_FALSE(fits_pattern("n=1024", "n="));
  EXPECT_FALSE(fits_pattern("n=1024", "m=*"));
  EXPECT_FALSE(fits_pattern("n=1024", "n=1024?"));
}

TEST(workloads, the_default_selects_all_and_a_name_selects_itself) {
  EXPECT_EQ(indices({"default"}), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(indices({"large"}), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(indices({"large*"}), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(indices({"small", "large"}), (std::vector<std::uint32_t>{0, 1}));
}

TEST(workloads, a_selection_that_fits_none_names_those_that_exist) {
  const std::vector<WorkloadRow> rows{{"small"}, {"large"}};
  const auto found = selected(rows, std::vector<Workload>{{"huge"}});
  ASSERT_FALSE(found);
  const auto& ended = std::get<Ended>(found.error());
  EXPECT_EQ(ended.name, VerdictName::problem_invalid);
  EXPECT_EQ(ended.evidence.message, "the problem has no workload huge; it has small, large");
}

TEST(workloads, times_are_geometric_means_and_so_is_the_speedup) {
  const std::vector<CaseResult> cases{passed("a", 1'000, 2'000), passed("b", 4'000, 32'000)};
  const Verdict verdict = combine(cases);
  ASSERT_EQ(name_of(verdict), VerdictName::passed);
  EXPECT_DOUBLE_EQ(measurement_of(verdict)->submission.median_ns, 2'000);
  EXPECT_DOUBLE_EQ(measurement_of(verdict)->reference.median_ns, 8'000);
  EXPECT_DOUBLE_EQ(speedup(*measurement_of(verdict)), 4);  // the geometric mean of 2 and 8
  EXPECT_EQ(measurement_of(verdict)->submission.sample_count, 10u);
  EXPECT_EQ(correctness_of(verdict)->trials_passed, 6u);
  EXPECT_EQ(correctness_of(verdict)->max_abs_err, 4'000);
}

TEST(workloads, a_weight_counts_as_that_many_workloads) {
  const Verdict verdict = combine(std::vector<CaseResult>{passed("a", 1'000, 1'000, 3), passed("b", 16'000, 16'000)});
  EXPECT_DOUBLE_EQ(measurement_of(verdict)->submission.median_ns, 2'000);
}

TEST(workloads, a_workload_without_a_weight_has_no_part_in_the_time) {
  CaseResult untimed = passed("test", 0, 0, 0);
  std::get<Passed>(untimed.verdict).measurement.method = "none";
  const std::vector<CaseResult> cases{untimed, passed("a", 1'000, 2'000), passed("b", 4'000, 8'000)};
  const Verdict verdict = combine(cases);
  EXPECT_DOUBLE_EQ(measurement_of(verdict)->submission.median_ns, 2'000);
  EXPECT_DOUBLE_EQ(speedup(*measurement_of(verdict)), 2);
  EXPECT_EQ(measurement_of(verdict)->method, "clock");
  EXPECT_EQ(correctness_of(verdict)->trials_passed, 9u);
  EXPECT_EQ(measurement_of(combine(std::vector<CaseResult>{untimed}))->submission.median_ns, 0);
}

TEST(workloads, the_first_workload_that_ended_is_the_verdict_and_is_named) {
  const Verdict wrong = ended(VerdictName::wrong_answer, evidence(Stage::judge, "value", "output 0 differs"));
  const Verdict verdict =
      combine(std::vector<CaseResult>{passed("a", 1, 1), {.workload = "b", .verdict = wrong, .samples = {}}});
  EXPECT_EQ(name_of(verdict), VerdictName::wrong_answer);
  EXPECT_EQ(evidence_of(verdict)->message, "workload b: output 0 differs");
}

TEST(workloads, the_timed_calls_of_many_workloads_are_bounded_in_total) {
  Plan plan;
  EXPECT_EQ(timing_plan(plan, 1).trials.timed, plan.trials.timed);
  EXPECT_EQ(timing_plan(plan, 4).trials.timed, plan.trials.timed / 2);
  EXPECT_EQ(timing_plan(plan, 128).trials.timed, kTimedSamplesMin);
  EXPECT_EQ(timing_plan(plan, 4).trials.warmup, std::min(plan.trials.warmup, 1u));
  plan.limits.bursts = Bursts::doubt;
  EXPECT_EQ(timing_plan(plan, 1).limits.bursts, Bursts::doubt);
  EXPECT_EQ(timing_plan(plan, 4).limits.bursts, Bursts::never);
  plan.limits.bursts = Bursts::always;
  EXPECT_EQ(timing_plan(plan, 4).limits.bursts, Bursts::always);
  EXPECT_EQ(check_plan(plan, 4).trials.timed, 0u);
  EXPECT_EQ(check_plan(plan, 1).trials.correctness, plan.trials.correctness);
  EXPECT_EQ(check_plan(plan, 2).trials.correctness, plan.trials.correctness);
  EXPECT_EQ(check_plan(plan, 128).trials.correctness, std::min(plan.trials.correctness, kCheckedCallsMin));
  Plan untimed = plan;
  untimed.trials.timed = 0;
  EXPECT_EQ(check_plan(untimed, 128).trials.correctness, plan.trials.correctness);
}

}  // namespace
}  // namespace kq::judge
