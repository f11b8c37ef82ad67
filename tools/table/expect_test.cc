#include "tools/table/expect.h"

#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

Expectations parsed(const std::string& lines) {
  return Expectations::parse("job,device,verdict,reason\n" + lines, "e.csv").value();
}

TEST(expect, an_expected_outcome_gives_nothing) {
  Expectations expectations = parsed("a/ok,cpu,passed,\na/ok,cuda,rejected,stream\na/bad,cpu,wrong_answer,shape\n\n");
  EXPECT_EQ(expectations.disagreement(passed_row("a/ok", 1, 2)), std::nullopt);
  EXPECT_EQ(expectations.disagreement(ended_row("a/bad", VerdictName::wrong_answer, evidence("shape"))), std::nullopt);
  EXPECT_TRUE(expectations.missing().empty());
}

TEST(expect, the_line_of_the_job_s_device_counts) {
  Expectations expectations = parsed("a/ok,cpu,passed,\na/ok,cuda,rejected,stream\n");
  RunRow row = passed_row("a/ok", 1, 2);
  row.result->device.kind = DeviceKind::cuda;
  EXPECT_EQ(expectations.disagreement(row), "a/ok cuda: expected rejected (stream), got passed");
}

TEST(expect, an_empty_reason_matches_any_reason) {
  Expectations expectations = parsed("a/bad,cpu,crashed,\n");
  EXPECT_EQ(expectations.disagreement(ended_row("a/bad", VerdictName::crashed, evidence("signal 11"))), std::nullopt);
}

TEST(expect, another_reason_disagrees) {
  Expectations expectations = parsed("a/bad,cpu,wrong_answer,shape\n");
  EXPECT_EQ(expectations.disagreement(ended_row("a/bad", VerdictName::wrong_answer, evidence("value"))),
            "a/bad cpu: expected wrong_answer (shape), got wrong_answer (value)");
}

TEST(expect, a_job_without_a_line_disagrees) {
  Expectations expectations = parsed("");
  EXPECT_EQ(expectations.disagreement(passed_row("a/new", 1, 2)),
            "a/new cpu: expected nothing, because no line names this job and device, got passed");
}

TEST(expect, an_unfinished_job_disagrees) {
  Expectations expectations = parsed("a/slow,cpu,passed,\n");
  EXPECT_EQ(expectations.disagreement(queued_row("a/slow")), "a/slow cpu: expected passed, got queued");
}

TEST(expect, an_expected_job_without_a_row_is_missing) {
  Expectations expectations = parsed("a/ok,cpu,passed,\na/gone,cpu,passed,\n");
  EXPECT_EQ(expectations.disagreement(passed_row("a/ok", 1, 2)), std::nullopt);
  EXPECT_EQ(expectations.missing(),
            std::vector<std::string>{"a/gone cpu: expected passed, got nothing, because there is no such job"});
}

TEST(expect, a_line_end_in_a_reason_splits_no_sentence) {
  Expectations expectations = parsed("a,cpu,crashed,\"x\ny\"\n");
  EXPECT_EQ(expectations.missing(),
            std::vector<std::string>{"a cpu: expected crashed (x\\ny), got nothing, because there is no such job"});
  EXPECT_EQ(expectations.disagreement(passed_row("a", 1, 2)), "a cpu: expected crashed (x\\ny), got passed");
}

struct Wrong {
  const char* text;
  const char* sentence;
};
class WrongExpectations : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongExpectations, are_bad_input_by_line) {
  const auto expectations = Expectations::parse(GetParam().text, "e.csv");
  ASSERT_FALSE(expectations);
  EXPECT_EQ(expectations.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(expectations.error().message.substr(0, std::string(GetParam().sentence).size()), GetParam().sentence);
}

INSTANTIATE_TEST_SUITE_P(
    all, WrongExpectations,
    ::testing::Values(
        Wrong{"", "e.csv: the first line must be job,device,verdict,reason"},
        Wrong{"label,device\n", "e.csv: the first line must be job,device,verdict,reason"},
        Wrong{"job,device,verdict,reason\na,cpu,passed\n", "e.csv:2: 4 fields are needed, got 3"},
        Wrong{"job,device,verdict,reason\na,gpu,passed,\n", "e.csv:2: device 'gpu'; known are cpu, cuda"},
        Wrong{"job,device,verdict,reason\na,cpu,good,\n", "e.csv:2: verdict 'good'; known are passed, suspect"},
        Wrong{"job,device,verdict,reason\na,cpu,passed,\na,cpu,passed,\n", "e.csv:3: a second line for a cpu"},
        Wrong{"job,device,verdict,reason\n\"a\n", "e.csv: line 2: a quote is opened"}));

TEST(expect, a_missing_file_is_named) {
  EXPECT_EQ(Expectations::read("/nowhere/e.csv").error().message,
            "cannot read /nowhere/e.csv; a CSV file with the header job,device,verdict,reason is needed");
}

}  // namespace
}  // namespace kq::tools
