#include "tools/table/row_values.h"

#include <gtest/gtest.h>

#include "tools/table/testing.h"
#include "tools/testing.h"

namespace kq::tools::values {
namespace {

TEST(RowValues, of_an_empty_string_are_unknown) {
  RunRow row = queued_row("relu/slow");
  row.entry.submission.author = "";
  EXPECT_EQ(submission<&Submission::author>(row), kUnknown);
  row.entry.submission.author = "alice";
  EXPECT_EQ(submission<&Submission::author>(row), text("alice"));
}

TEST(RowValues, of_a_part_that_the_row_lacks_are_unknown) {
  const RunRow row = queued_row("relu/slow");
  EXPECT_EQ(result<&Result::worker>(row), kUnknown);
  EXPECT_EQ(measurement<&Measurement::method>(row), kUnknown);
  EXPECT_EQ((time_us<&Measurement::submission, &Statistics::median_ns>(row)), kUnknown);
  EXPECT_EQ(cases(row), kUnknown);
  EXPECT_EQ(kernels(row), kUnknown);
  EXPECT_EQ(fault(row), kUnknown);
}

TEST(RowValues, of_the_submitter_are_without_the_share_of_a_sweep) {
  RunRow row = queued_row("relu/slow");
  row.job.submitter = "bob";
  EXPECT_EQ(submitter_of(row), text("bob"));
  row.entry.submitter = "ann@lab/" + row.run;
  EXPECT_EQ(submitter_of(row), text("ann@lab"));
}

TEST(RowValues, of_lists_are_joined) {
  RunRow row = passed_row("relu/fast", 1, 2);
  row.entry.submission.tags = {{"island", "3"}, {"model", "m"}};
  row.entry.submission.labels = {"fast", "quiet"};
  EXPECT_EQ(tags(row), text("island=3;model=m"));
  EXPECT_EQ(require(row), text("fast;quiet"));
  row.result->cases.resize(2);
  row.result->cases[0].verdict = Passed{};
  row.result->cases[1].verdict = ended(VerdictName::wrong_answer, {});
  EXPECT_EQ(cases(row), text("1 of 2"));
}

TEST(RowValues, of_the_kernels_that_ran_are_a_list_in_json) {
  RunRow row = passed_row("relu/fast", 1, 2);
  row.result->kernels_ran =
      KernelsRan{.calls = 1, .kernels = {{.name = "relu", .count = 2, .ns = 8}}, .own_share = 0.5};
  EXPECT_EQ(own_share(row), number(0.5));
  EXPECT_EQ(decoy(row), Cell(false));
  EXPECT_NE(std::get<std::string>(kernels(row)).find(R"("name": "relu")"), std::string::npos);
}

TEST(RowValues, a_passed_row_says_by_what) {
  RunRow row = passed_row("relu/fast", 12'500, 25'000);
  EXPECT_EQ(passed_by(row), text("reference"));
  std::get<Passed>(row.result->verdict).correctness.truth = TruthErrors{.kind = "float64 on the device"};
  EXPECT_EQ(passed_by(row), text("truth"));
}

TEST(RowValues, device_code_is_tier_0_and_a_job_that_did_not_run_has_no_tier) {
  RunRow row = ended_row("relu/a", VerdictName::wrong_answer, {});
  row.result->sandbox = "uid,user";
  row.result->device.kind = DeviceKind::cuda;
  row.entry.submission.backend = Backend::cuda;
  EXPECT_EQ(tier_of(row), count(0));
  row.entry.submission.backend = Backend::triton;
  EXPECT_EQ(tier_of(row), count(2));
  row.result->sandbox = "";
  EXPECT_EQ(tier_of(row), kUnknown);
}

TEST(RowValues, the_duration_of_trials_is_unknown_without_trials) {
  RunRow row = passed_row("relu/fast", 1, 2);
  row.result->times = {.run_ms = 900};
  EXPECT_EQ(trials_s(row), kUnknown);
  row.result->times.trials_us = 640'125;
  EXPECT_EQ(stage_time<&StageTimes::run_ms>(row), number(0.9));
  EXPECT_EQ(trials_s(row), number(0.640125));
}

}  // namespace
}  // namespace kq::tools::values
