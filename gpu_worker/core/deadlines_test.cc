#include "gpu_worker/core/deadlines.h"

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

constexpr std::int64_t kLimitMs = 500;

Report report_of(VerdictName name) {
  Report report;
  report.id = 7;
  report.verdict = ended(name, {});
  report.samples.submission_ns = {1};
  return report;
}

TEST(Deadlines, the_submission_times_out_if_the_judge_waited_for_it) {
  for (const VerdictName name :
       {VerdictName::crashed, VerdictName::out_of_memory, VerdictName::wrong_answer, VerdictName::rejected}) {
    const Report report = report_after_kill(report_of(name), AfterKill::is_gone, kLimitMs);
    EXPECT_TRUE(has_timed_out(report)) << to_string(name);
    EXPECT_EQ(report.id, 7u);
    EXPECT_TRUE(report.samples.submission_ns.empty());
    EXPECT_EQ(evidence_of(*report.verdict)->message, "all trials together took longer than 500 ms");
  }
}

TEST(Deadlines, a_verdict_about_the_reference_stays) {
  for (const VerdictName name : {VerdictName::problem_invalid, VerdictName::too_large, VerdictName::unsupported_here}) {
    EXPECT_EQ(name_of(*report_after_kill(report_of(name), AfterKill::is_gone, kLimitMs).verdict), name);
  }
}

TEST(Deadlines, a_submission_that_had_not_begun_gets_no_verdict) {
  Report report;
  report.error = "a fresh submission child could not be set up";
  report = report_after_kill(std::move(report), AfterKill::is_gone, kLimitMs);
  EXPECT_FALSE(report.verdict);
  EXPECT_EQ(report.error,
            "the 500 ms for the run were over before the submission was at work: a fresh submission child could not be "
            "set up");
}

TEST(Deadlines, a_judge_without_report_is_our_fault_if_the_submission_is_gone) {
  const auto report = report_without_answer(7, AfterKill::is_gone, kLimitMs);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::our_fault);
}

TEST(Deadlines, a_submission_that_survives_the_kill_times_out) {
  Report late;
  late.error = "the judge got no exit status";
  EXPECT_TRUE(has_timed_out(report_after_kill(late, AfterKill::is_alive, kLimitMs)));
  const auto report = report_without_answer(7, AfterKill::is_alive, kLimitMs);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->id, 7u);
  EXPECT_TRUE(has_timed_out(*report));
}

}  // namespace
}  // namespace kq::worker
