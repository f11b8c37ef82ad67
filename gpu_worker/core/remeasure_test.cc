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

TEST(Doubt, is_of_what_is_published_above_the_childs_own_time) {
  EXPECT_TRUE(Doubts().wants_another(report(10'200, 10'000)));
  EXPECT_FALSE(Doubts().wants_another(report(10'050, 10'000)));
  EXPECT_FALSE(Doubts().wants_another(report(10'200, 0))) << "it told no times";
  EXPECT_FALSE(Doubts().wants_another(report(2'100'000, 2'000'000))) << "too long for that error";
  Report wrong;
  wrong.verdict = ended(VerdictName::wrong_answer, {});
  EXPECT_FALSE(Doubts().wants_another(wrong));
  Report disagrees = report(10'200, 10'000);
  disagrees.disagreement = "the clocks differ";
  EXPECT_FALSE(Doubts().wants_another(disagrees)) << "that has a rule of its own";
}

TEST(Doubt, is_followed_for_one_job_in_eight_at_most) {
  Doubts doubts;
  int again = 0;
  for (int i = 0; i < 80; ++i) again += doubts.wants_another(report(12'000, 10'000)) ? 1 : 0;
  EXPECT_EQ(again, 10);
  for (int i = 0; i < 80; ++i) EXPECT_FALSE(doubts.wants_another(report(10'000, 10'000)));
  EXPECT_TRUE(doubts.wants_another(report(12'000, 10'000))) << "all others were believed";
}

TEST(ForgedClock, is_one_whose_clocks_disagree_over_enough_samples) {
  for (const auto& [disagreement, timed, is_forged] : {std::tuple{"the clocks differ", kTimedSamplesMin, true},
                                                       {"the clocks differ", kTimedSamplesMin - 1, false},
                                                       {"", kTimedSamplesMin, false}}) {
    Report passed = report(10'000, 10'000);
    passed.disagreement = disagreement;
    passed.trials_us = 100'000;
    passed.waited_us = 900;
    ASSERT_TRUE(reject_forged_clock(passed, {.timed = timed}, Looks::two));
    EXPECT_EQ(name_of(*passed.verdict), is_forged ? VerdictName::rejected : VerdictName::passed) << timed;
  }
}

TEST(ForgedClock, is_nobodys_where_the_judge_waited_for_a_processor) {
  Report passed = report(10'000, 10'000);
  passed.disagreement = "the clocks differ";
  passed.trials_us = 100'000;
  passed.waited_us = 2'500;
  const auto told = reject_forged_clock(passed, {.timed = kTimedSamplesMin}, Looks::two);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().kind, ErrorKind::our_fault);
  EXPECT_EQ(told.error().message,
            "the clocks differ, twice, and of 100 ms of trials the judge waited 2 ms for a processor: the host is too "
            "busy to measure on");
  EXPECT_EQ(name_of(*passed.verdict), VerdictName::passed) << "nobody is accused";
}

TEST(ForgedClock, neither_passes_nor_is_rejected_where_no_time_was_left_to_look_again) {
  Report passed = report(10'000, 10'000);
  passed.disagreement = "the clocks differ";
  const auto told = reject_forged_clock(passed, {.timed = kTimedSamplesMin}, Looks::one);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().kind, ErrorKind::our_fault);
  EXPECT_EQ(told.error().message, "the clocks differ, and its limit left no time to look again");
  EXPECT_TRUE(reject_forged_clock(passed, {.timed = kTimedSamplesMin - 1}, Looks::one))
      << "what is published of so few the judge's clock allows";
  passed.disagreement.clear();
  EXPECT_TRUE(reject_forged_clock(passed, {.timed = kTimedSamplesMin}, Looks::one));
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

TEST(BlameForeigners, a_gpu_that_others_use_was_not_the_submissions_to_keep_quiet) {
  const auto blamed =
      blame_foreigners(not_quiet(), Conditions{.foreign = {{{.pid = 7, .memory_mib = 512}, {.pid = 9}}}});
  ASSERT_FALSE(blamed);
  EXPECT_EQ(blamed.error().kind, ErrorKind::our_fault);
  EXPECT_EQ(blamed.error().message,
            "the GPU did other work; but processes that are not kq's use it too: 7 (512 MiB), 9 (0 MiB); a worker "
            "needs a GPU of its own");
}

TEST(BlameForeigners, nobody_is_no_excuse_nor_is_who_cannot_be_told) {
  EXPECT_TRUE(blame_foreigners(not_quiet(), std::nullopt));
  EXPECT_TRUE(blame_foreigners(not_quiet(), Conditions{}));
  EXPECT_TRUE(blame_foreigners(not_quiet(), Conditions{.foreign = std::vector<GpuProcess>()}));
}

TEST(BlameForeigners, other_rules_ask_nothing_of_the_device) {
  const Conditions shared{.foreign = {{{.pid = 7}}}};
  EXPECT_TRUE(blame_foreigners(Passed{}, shared));
  EXPECT_TRUE(blame_foreigners(ended(VerdictName::rejected, {.stage = Stage::judge,
                                                             .reason = "tamper",
                                                             .message = {},
                                                             .hint = {},
                                                             .rule = "clock",
                                                             .place = {},
                                                             .mismatch = {}}),
                               shared));
  EXPECT_TRUE(blame_foreigners(ended(VerdictName::rejected, {.stage = Stage::judge,
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
