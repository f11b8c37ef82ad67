#include "tools/views/sweep_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

producer::SubmitSummary submitted(const std::vector<std::string>& labels, Acceptance acceptance = Acceptance::accepted,
                                  JobState state = JobState::queued) {
  producer::SubmitSummary summary;
  summary.run = "r1";
  Sequence seq = 0;
  for (const std::string& label : labels) summary.add({label, {acceptance, ++seq, state, ""}, Requirements{}});
  return summary;
}

TEST(sweep_report, has_verdicts_reasons_and_the_leaderboard) {
  SweepReport report(submitted({"relu/fast", "relu/bad"}), nullptr);
  EXPECT_TRUE(report.add(passed_row("relu/fast", 10'000, 20'000)));
  EXPECT_TRUE(
      report.add(ended_row("relu/bad", VerdictName::rejected, evidence("stream", "makes a stream\nand another"))));
  report.finish();
  EXPECT_EQ(report.text(),
            "verdict   jobs\n"
            "passed       1\n"
            "rejected     1\n\n"
            "not passed:\n"
            "  relu/bad: rejected (stream): makes a stream\n\n"
            "problem  device         median    reference    speedup  label      backend  author  submitter\n"
            "relu     Test CPU  10.0 us ±1%  20.0 us ±1%  2.00x ±1%  relu/fast  torch\n"
            "Test CPU: 1 of 1 problem solved, geometric mean speedup 2.00x, fast_p 0:1.00 0.5:1.00 0.8:1.00 1:1.00 "
            "1.5:1.00 2:0.00\n");
}

TEST(sweep_report, ignores_earlier_jobs_of_the_run) {
  SweepReport report(submitted({"relu/fast"}), nullptr);
  EXPECT_FALSE(report.add(passed_row("relu/earlier", 1, 2)));
  report.finish();
  EXPECT_THAT(report.text(), Not(HasSubstr("earlier")));
}

TEST(sweep_report, disagreements_are_listed) {
  auto expectations =
      Expectations::parse("job,device,verdict,reason\nrelu/fast,cpu,passed,\nrelu/bad,cpu,rejected,stream\n", "e.csv")
          .value();
  SweepReport report(submitted({"relu/fast", "relu/bad"}), &expectations);
  report.add(passed_row("relu/fast", 10'000, 20'000));
  report.add(passed_row("relu/bad", 10'000, 20'000));
  report.finish();
  EXPECT_FALSE(report.agrees());
  EXPECT_THAT(report.text(),
              HasSubstr("1 job not as expected:\n  relu/bad cpu: expected rejected (stream), got passed\n"));
  EXPECT_THAT(report.json({}, 1),
              HasSubstr(R"("disagreements": ["relu/bad cpu: expected rejected (stream), got passed"], "left_out": 0, )"
                        R"("notes": [], "errors": [], "exit_code": 1)"));
}

TEST(sweep_report, agreement_is_reported) {
  auto expectations = Expectations::parse("job,device,verdict,reason\nrelu/fast,cpu,passed,\n", "e.csv").value();
  SweepReport report(submitted({"relu/fast"}), &expectations);
  report.add(passed_row("relu/fast", 10'000, 20'000));
  report.finish();
  EXPECT_TRUE(report.agrees());
  EXPECT_THAT(report.text(), HasSubstr("every job ended as expected\n"));
}

TEST(sweep_report, a_long_list_of_failures_is_cut) {
  std::vector<std::string> labels;
  for (int i = 0; i < 30; ++i) labels.push_back("relu/" + std::to_string(i));
  SweepReport report(submitted(labels), nullptr);
  for (const std::string& label : labels) report.add(ended_row(label, VerdictName::crashed));
  report.finish();
  EXPECT_THAT(report.text(), HasSubstr("and 10 more"));
  EXPECT_THAT(report.json({}, 1), HasSubstr(R"("verdicts": {"crashed": 30})"));
}

TEST(sweep_report, submitted_jobs_are_counted) {
  EXPECT_EQ(submitted_text(submitted({"a", "b"})), "accepted 2, reused 0");
  EXPECT_EQ(submitted_text(submitted({"a", "b"}, Acceptance::reused, JobState::finished)),
            "reused all 2 jobs, whose results are known");
  EXPECT_EQ(submitted_text(submitted({"a", "b"}, Acceptance::reused)), "reused all 2 jobs, which are not all finished");
  EXPECT_EQ(submitted_text(submitted({"a"}, Acceptance::refused)), "accepted 0, reused 0, refused 1");
}

TEST(sweep_report, json_tells_the_kernels_that_were_left_out) {
  SweepReport report(submitted({"relu/fast"}), nullptr);
  report.add(passed_row("relu/fast", 10'000, 20'000));
  report.finish();
  const producer::EndOfCall faults{.left_out_count = 1, .errors = {"empty.py is empty"}};
  EXPECT_THAT(report.json(faults, 2),
              HasSubstr(R"("left_out": 1, "notes": [], "errors": ["empty.py is empty"], "exit_code": 2})"));
  EXPECT_EQ(sweep_json("r1", faults, 2), R"({"schema": "kq.sweep/1", "run": "r1", "left_out": 1, "notes": [], )"
                                         R"("errors": ["empty.py is empty"], "exit_code": 2})"
                                         "\n");
}

}  // namespace
}  // namespace kq::tools
