#include "tools/report/compare/compare_runs.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunRow timed(const std::string& label, std::int64_t about_ns, std::int64_t reference_ns = 5'000) {
  RunRow row = passed_row(label, static_cast<double>(about_ns), static_cast<double>(reference_ns));
  for (int i = -10; i <= 10; ++i) {
    row.result->samples.submission_ns.push_back(about_ns + i * about_ns / 200);
    row.result->samples.reference_ns.push_back(reference_ns + i);
  }
  return row;
}

// Returns the results of a run that has judged its own jobs: each row gets a job that no other row has.
RunResults results(const std::vector<RunRow>& rows) {
  static Sequence last_seq = 0;
  RunResults found;
  for (RunRow row : rows) {
    row.job.seq = ++last_seq;
    found.emplace(row.entry.submission.label, kernel_result(row));
  }
  return found;
}

std::vector<std::string> changes(const Comparison& comparison) {
  std::vector<std::string> found;
  for (const ComparedKernel& kernel : comparison.kernels)
    found.push_back(kernel.label + " " + std::string(to_string(kernel.change)));
  return found;
}

TEST(CompareRuns, finds_each_kind_of_change_and_puts_the_worst_first) {
  const RunResults base = results({timed("a", 1'000), timed("b", 1'000), timed("c", 1'000), timed("d", 1'000),
                                   ended_row("e", VerdictName::crashed), ended_row("f", VerdictName::crashed)});
  const RunResults now =
      results({timed("a", 1'000), timed("b", 2'000), timed("c", 500), ended_row("d", VerdictName::crashed),
               timed("e", 1'000), ended_row("f", VerdictName::timed_out), timed("g", 1'000), queued_row("h")});
  const Comparison comparison = compare_runs("r1", base, "r2", now, {});
  EXPECT_THAT(changes(comparison),
              ElementsAre("d failed", "b slower", "e passed", "c faster", "g added", "h added", "a same", "f failing"));
  EXPECT_EQ(comparison.regression_count(), 2u);
  EXPECT_DOUBLE_EQ(comparison.kernels[1].ratio, 0.5);
  EXPECT_LT(comparison.kernels[1].p, 1e-6);
}

TEST(CompareRuns, a_kernel_that_is_gone_is_a_regression) {
  const RunResults base = results({timed("a", 1'000)});
  const Comparison comparison = compare_runs("r1", base, "r2", {}, {});
  EXPECT_THAT(changes(comparison), ElementsAre("a missing"));
  EXPECT_EQ(comparison.regression_count(), 1u);
}

TEST(CompareRuns, a_kernel_that_failed_and_is_gone_is_no_regression) {
  const RunResults base = results({ended_row("a", VerdictName::crashed)});
  const Comparison comparison = compare_runs("r1", base, "r2", {}, {});
  EXPECT_THAT(changes(comparison), ElementsAre("a missing"));
  EXPECT_EQ(comparison.regression_count(), 0u);
}

TEST(CompareRuns, what_was_not_measured_is_not_free_of_regressions) {
  const auto finding = [](const RunResults& base, const RunResults& now) {
    return regression_finding(compare_runs("r1", base, "r2", now, {}));
  };
  RunRow other_problem = timed("a", 1'000);
  other_problem.entry.submission.problem.hash = sha256("another problem");
  const RunResults a = results({timed("a", 1'000)});
  const RunResults failing = results({ended_row("a", VerdictName::crashed)});
  EXPECT_EQ(finding(a, results({timed("a", 1'000)})), RegressionFinding::none);
  EXPECT_EQ(finding(a, a), RegressionFinding::nothing_measured);
  EXPECT_EQ(finding(failing, failing), RegressionFinding::none);
  RunResults one_is_new = results({timed("b", 1'000)});
  one_is_new.merge(RunResults(a));
  EXPECT_EQ(finding(a, one_is_new), RegressionFinding::nothing_measured);
  EXPECT_EQ(finding(results({timed("a", 1'000), timed("b", 1'000)}), one_is_new), RegressionFinding::none);
  EXPECT_EQ(finding(a, failing), RegressionFinding::regressed);
  EXPECT_EQ(finding(a, results({queued_row("a")})), RegressionFinding::unfinished);
  EXPECT_EQ(finding(results({queued_row("a")}), a), RegressionFinding::unfinished);
  for (const VerdictName name : {VerdictName::cancelled, VerdictName::expired, VerdictName::abandoned}) {
    EXPECT_EQ(finding(a, results({ended_row("a", name)})), RegressionFinding::unfinished) << to_string(name);
    EXPECT_EQ(finding(results({ended_row("a", name)}), a), RegressionFinding::unfinished) << to_string(name);
  }
  EXPECT_EQ(finding(failing, results({queued_row("a")})), RegressionFinding::none);
  EXPECT_EQ(finding(a, results({other_problem})), RegressionFinding::nothing_compared);
  EXPECT_EQ(finding(results({timed("a", 1'000), timed("b", 1'000)}), results({other_problem, timed("b", 1'000)})),
            RegressionFinding::none);
  EXPECT_EQ(finding(results({timed("a", 1'000), timed("b", 1'000)}), results({queued_row("a")})),
            RegressionFinding::regressed);
}

TEST(CompareRuns, times_of_one_and_the_same_job_are_told) {
  const RunResults base = results({timed("a", 1'000), timed("b", 1'000), ended_row("c", VerdictName::crashed)});
  RunResults now = base;
  EXPECT_THAT(
      compare_runs("r1", base, "r2", now, {}).notes,
      ElementsAre("The times of 2 of 2 kernels that pass in both runs are of one and the same job, so they were "
                  "not measured anew; kq submit --force-rerun measures again."));
  now.at("b") = results({timed("b", 1'000)}).at("b");
  EXPECT_THAT(compare_runs("r1", base, "r2", now, {}).notes, ElementsAre(HasSubstr("The times of 1 of 2 kernels")));
}

TEST(CompareRuns, small_changes_count_only_if_asked) {
  const RunResults base = results({timed("a", 10'000)}), now = results({timed("a", 10'800)});
  EXPECT_THAT(changes(compare_runs("r1", base, "r2", now, {})), ElementsAre("a slower"));
  EXPECT_THAT(changes(compare_runs("r1", base, "r2", now, {.change_min = 0.1})), ElementsAre("a same"));
}

TEST(CompareRuns, few_samples_prove_nothing) {
  const RunResults base = results({passed_row("a", 1'000, 5'000)}), now = results({passed_row("a", 9'000, 5'000)});
  EXPECT_THAT(changes(compare_runs("r1", base, "r2", now, {})), ElementsAre("a same"));
}

TEST(CompareRuns, a_slower_machine_is_told_from_a_slower_kernel_by_its_reference) {
  const RunResults base = results({timed("a", 1'000, 5'000)}), now = results({timed("a", 2'000, 10'000)});
  const Comparison times = compare_runs("r1", base, "r2", now, {});
  EXPECT_THAT(changes(times), ElementsAre("a slower"));
  EXPECT_THAT(times.notes, ElementsAre(HasSubstr("The times of 1 of 1 reference changed as well")));
  EXPECT_THAT(changes(compare_runs("r1", base, "r2", now, {.metric = Metric::speedup})), ElementsAre("a same"));
}

TEST(CompareRuns, times_of_other_devices_are_not_compared) {
  RunRow elsewhere = timed("a", 100);
  elsewhere.result->device.model = "Other CPU";
  const RunResults base = results({timed("a", 1'000)}), now = results({elsewhere});
  const Comparison comparison = compare_runs("r1", base, "r2", now, {});
  EXPECT_THAT(changes(comparison), ElementsAre("a incomparable"));
  EXPECT_THAT(comparison.notes, ElementsAre(HasSubstr("whose device model, precision or problem differs")));
}

TEST(CompareRuns, times_in_another_precision_are_not_compared) {
  RunRow half = timed("a", 100);
  half.entry.submission.problem.precision = Precision::fp16;
  const RunResults base = results({timed("a", 1'000)}), now = results({half});
  EXPECT_THAT(changes(compare_runs("r1", base, "r2", now, {})), ElementsAre("a incomparable"));
  EXPECT_THAT(changes(compare_runs("r1", base, "r2", now, {.metric = Metric::speedup})), ElementsAre("a incomparable"));
}

TEST(CompareRuns, versions_that_a_failed_build_does_not_know_are_no_difference) {
  RunResults base = results({timed("a", 1'000)}), now = results({timed("a", 1'000), timed("b", 1'000)});
  base.at("a").version = now.at("a").version = "kq 1, torch 2";
  now.at("b").version = "kq 1";
  EXPECT_THAT(compare_runs("r1", base, "r2", now, {}).notes, IsEmpty());
  now.at("a").version = "kq 1, torch 3";
  EXPECT_THAT(compare_runs("r1", base, "r2", now, {}).notes, ElementsAre(HasSubstr("kq 1, torch 2; kq 1, torch 3")));
}

TEST(CompareRuns, runs_with_few_labels_in_common_get_a_hint) {
  RunRow moved = timed("gelu/anna", 1'000);
  const RunRow before = timed("anna", 1'000);
  moved.entry.submission.files = before.entry.submission.files;
  moved.entry.submission.problem = before.entry.submission.problem;
  const RunResults base = results({before, timed("b", 1'000), timed("c", 1'000)});
  const Comparison comparison =
      compare_runs("r1", base, "r2", results({moved, timed("c", 1'000), timed("d/x", 1)}), {});
  EXPECT_THAT(
      comparison.notes,
      ElementsAre("The runs have 1 label and 2 problems in common, of 3 and 3 kernels; 1 kernel has the same "
                  "source under another label, such as anna and gelu/anna; a label is the path below the folder "
                  "that was submitted, so submit the same folder for both runs."));
  EXPECT_THAT(compare_runs("r1", base, "r2", results({timed("b", 1'000)}), {}).notes, IsEmpty());
}

TEST(CompareRuns, counts_by_author) {
  RunRow row = timed("a", 1'000);
  row.entry.submission.author = "ann";
  const RunResults base = results({row, timed("b", 1'000)}), now = results({row, timed("b", 3'000)});
  const ChangeCounts counts = grouped(compare_runs("r1", base, "r2", now, {}), "author");
  EXPECT_EQ(counts.at("ann").at(Change::same), 1u);
  EXPECT_EQ(counts.at("-").at(Change::slower), 1u);
}

}  // namespace
}  // namespace kq::tools
