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

TEST(Overtime, is_the_submissions_where_the_judge_waited_for_it) {
  for (const VerdictName name :
       {VerdictName::crashed, VerdictName::out_of_memory, VerdictName::wrong_answer, VerdictName::rejected}) {
    const Report report = after_kill(report_of(name), Killed::is_gone, kLimitMs);
    EXPECT_TRUE(ran_out_of_time(report)) << to_string(name);
    EXPECT_EQ(report.id, 7u);
    EXPECT_TRUE(report.samples.submission_ns.empty());
    EXPECT_EQ(evidence_of(*report.verdict)->message, "all trials together took longer than 500 ms");
  }
}

TEST(Overtime, is_not_the_submissions_where_the_reference_ended) {
  for (const VerdictName name : {VerdictName::problem_invalid, VerdictName::too_large, VerdictName::unsupported_here}) {
    EXPECT_EQ(name_of(*after_kill(report_of(name), Killed::is_gone, kLimitMs).verdict), name);
  }
}

TEST(Overtime, is_ours_where_the_submission_had_not_begun) {
  Report report;
  report.error = "a fresh submission child could not be set up";
  report = after_kill(std::move(report), Killed::is_gone, kLimitMs);
  EXPECT_FALSE(report.verdict);
  EXPECT_EQ(report.error,
            "the 500 ms for its run were over before the submission was at work: a fresh submission child could not be "
            "set up");
}

TEST(Overtime, is_ours_where_the_judge_says_nothing_of_a_submission_that_is_gone) {
  const auto report = without_answer(7, Killed::is_gone, kLimitMs);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::our_fault);
}

TEST(Overtime, is_the_submissions_where_that_would_not_go) {
  Report unsaid;
  unsaid.error = "no news of its end";
  EXPECT_TRUE(ran_out_of_time(after_kill(unsaid, Killed::lives_on, kLimitMs)));
  const auto report = without_answer(7, Killed::lives_on, kLimitMs);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->id, 7u);
  EXPECT_TRUE(ran_out_of_time(*report));
}

}  // namespace
}  // namespace kq::worker
