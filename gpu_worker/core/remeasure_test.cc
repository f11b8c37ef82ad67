#include "gpu_worker/core/remeasure.h"

#include <tuple>

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

Report report(double published_ns, double event_ns) {
  Measurement measurement;
  measurement.submission.median_ns = published_ns;
  measurement.event_ns = event_ns;
  Report report;
  report.verdict = Passed{std::move(measurement), {}};
  return report;
}

TEST(RemeasurePolicy, a_published_time_above_the_childs_own_time_is_measured_again) {
  EXPECT_TRUE(RemeasurePolicy().needs_remeasurement(report(10'200, 10'000)));
  EXPECT_FALSE(RemeasurePolicy().needs_remeasurement(report(10'050, 10'000)));
  EXPECT_FALSE(RemeasurePolicy().needs_remeasurement(report(10'200, 0))) << "the child reported no time";
  EXPECT_FALSE(RemeasurePolicy().needs_remeasurement(report(2'100'000, 2'000'000))) << "the clock error is negligible";
  Report wrong;
  wrong.verdict = ended(VerdictName::wrong_answer, {});
  EXPECT_FALSE(RemeasurePolicy().needs_remeasurement(wrong));
  Report mismatched = report(10'200, 10'000);
  mismatched.disagreement = "the clocks differ";
  EXPECT_FALSE(RemeasurePolicy().needs_remeasurement(mismatched))
      << "reject_forged_clock() decides about a clock mismatch";
}

TEST(RemeasurePolicy, at_most_one_job_in_eight_is_measured_again) {
  RemeasurePolicy policy;
  int again = 0;
  for (int i = 0; i < 80; ++i) again += policy.needs_remeasurement(report(12'000, 10'000)) ? 1 : 0;
  EXPECT_EQ(again, 10);
  for (int i = 0; i < 80; ++i) EXPECT_FALSE(policy.needs_remeasurement(report(10'000, 10'000)));
  EXPECT_TRUE(policy.needs_remeasurement(report(12'000, 10'000))) << "no other job was measured again";
}

TEST(ForgedClock, a_mismatch_of_the_clocks_over_enough_samples_is_rejected) {
  for (const auto& [disagreement, timed, is_forged] : {std::tuple{"the clocks differ", kTimedSamplesMin, true},
                                                       {"the clocks differ", kTimedSamplesMin - 1, false},
                                                       {"", kTimedSamplesMin, false}}) {
    Report passed = report(10'000, 10'000);
    passed.disagreement = disagreement;
    passed.trials_us = 100'000;
    passed.waited_us = 900;
    ASSERT_TRUE(reject_forged_clock(passed, {.timed = timed}, Measured::twice));
    EXPECT_EQ(name_of(*passed.verdict), is_forged ? VerdictName::rejected : VerdictName::passed) << timed;
  }
}

TEST(ForgedClock, a_mismatch_is_our_fault_if_the_judge_waited_for_a_processor) {
  Report passed = report(10'000, 10'000);
  passed.disagreement = "the clocks differ";
  passed.trials_us = 100'000;
  passed.waited_us = 2'500;
  const auto rejected = reject_forged_clock(passed, {.timed = kTimedSamplesMin}, Measured::twice);
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error().kind, ErrorKind::our_fault);
  EXPECT_EQ(rejected.error().message,
            "the clocks differ, twice, and of 100 ms of trials the judge waited 2 ms for a processor: the host is too "
            "busy to measure on");
  EXPECT_EQ(name_of(*passed.verdict), VerdictName::passed) << "the submission is not rejected";
}

TEST(ForgedClock, a_mismatch_is_our_fault_if_no_time_was_left_to_measure_again) {
  Report passed = report(10'000, 10'000);
  passed.disagreement = "the clocks differ";
  const auto rejected = reject_forged_clock(passed, {.timed = kTimedSamplesMin}, Measured::once);
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error().kind, ErrorKind::our_fault);
  EXPECT_EQ(rejected.error().message, "the clocks differ, and the limit of the job left no time to measure again");
  EXPECT_TRUE(reject_forged_clock(passed, {.timed = kTimedSamplesMin - 1}, Measured::once))
      << "with so few samples the published time is not below the judge's";
  passed.disagreement.clear();
  EXPECT_TRUE(reject_forged_clock(passed, {.timed = kTimedSamplesMin}, Measured::once));
  EXPECT_EQ(name_of(*passed.verdict), VerdictName::passed);
}

Verdict not_quiet() {
  return ended(VerdictName::rejected, {.stage = Stage::judge,
                                       .reason = "async",
                                       .message = "the GPU did other work",
                                       .hint = {},
                                       .rule = "quiet",
                                       .place = {},
                                       .mismatch = {}});
}

TEST(ForeignProcesses, explain_a_gpu_that_was_not_quiet) {
  const auto checked =
      check_foreign_processes(not_quiet(), Conditions{.foreign = {{{.pid = 7, .memory_mib = 512}, {.pid = 9}}}});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::our_fault);
  EXPECT_EQ(checked.error().message,
            "the GPU did other work; but processes that are not kq's use it too: 7 (512 MiB), 9 (0 MiB); a worker "
            "needs a GPU of its own");
}

TEST(ForeignProcesses, without_foreign_processes_or_a_list_the_verdict_stays) {
  EXPECT_TRUE(check_foreign_processes(not_quiet(), std::nullopt));
  EXPECT_TRUE(check_foreign_processes(not_quiet(), Conditions{}));
  EXPECT_TRUE(check_foreign_processes(not_quiet(), Conditions{.foreign = std::vector<GpuProcess>()}));
}

TEST(ForeignProcesses, other_rules_do_not_depend_on_the_device) {
  const Conditions shared{.foreign = {{{.pid = 7}}}};
  EXPECT_TRUE(check_foreign_processes(Passed{}, shared));
  EXPECT_TRUE(check_foreign_processes(ended(VerdictName::rejected, {.stage = Stage::judge,
                                                                    .reason = "tamper",
                                                                    .message = {},
                                                                    .hint = {},
                                                                    .rule = "clock",
                                                                    .place = {},
                                                                    .mismatch = {}}),
                                      shared));
  EXPECT_TRUE(check_foreign_processes(ended(VerdictName::rejected, {.stage = Stage::judge,
                                                                    .reason = "async",
                                                                    .message = {},
                                                                    .hint = {},
                                                                    .rule = {},
                                                                    .place = {},
                                                                    .mismatch = {}}),
                                      shared));
}

}  // namespace
}  // namespace kq::worker
