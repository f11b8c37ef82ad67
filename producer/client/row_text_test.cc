#include "producer/client/row_text.h"

#include <gtest/gtest.h>

#include <utility>

namespace kq::producer {
namespace {

RunRow queued_row() {
  RunRow row;
  row.entry.submission.label = "a/b";
  return row;
}

RunRow ended_row(VerdictName name, Evidence evidence) {
  RunRow row = queued_row();
  row.job.state = JobState::finished;
  row.result.emplace().verdict = ended(name, std::move(evidence));
  return row;
}

RunRow passed_row() {
  RunRow row = queued_row();
  row.job.state = JobState::finished;
  Passed passed;
  passed.measurement.submission.median_ns = 10'000;
  passed.measurement.reference.median_ns = 20'000;
  row.result.emplace().verdict = passed;
  return row;
}

Evidence evidence(std::string reason, std::string message = "") {
  Evidence evidence;
  evidence.reason = std::move(reason);
  evidence.message = std::move(message);
  return evidence;
}

TEST(row_text, invalid_utf8_is_replaced) {
  EXPECT_EQ(valid_utf8("plain\n"), "plain\n");
  EXPECT_EQ(valid_utf8("h\xC3\xA9"), "h\xC3\xA9");
  EXPECT_EQ(valid_utf8("x\xC3"), "x\xEF\xBF\xBD");
}

TEST(row_text, control_characters_are_made_visible) {
  EXPECT_EQ(printable("a\x1b[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(printable("two\nlines\ttab\r"), "two\\nlines tab\\x0d");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\xEF\xBF\xBD"
            "31m");
  EXPECT_EQ(printable("\xE2\x80\xAE"
                      "evil"),
            "\xEF\xBF\xBD"
            "evil");
  EXPECT_EQ(printable("h\xC3\xA9"), "h\xC3\xA9");
  EXPECT_EQ(printable("\xff"), "\xEF\xBF\xBD");
}

TEST(row_text, times_have_three_digits_and_a_unit) {
  EXPECT_EQ(time_text(1'234), "1.23 us");
  EXPECT_EQ(time_text(12'345), "12.3 us");
  EXPECT_EQ(time_text(123'456), "123 us");
  EXPECT_EQ(time_text(999'600), "1.00 ms");
  EXPECT_EQ(time_text(2.5e9), "2.50 s");
  EXPECT_EQ(time_text(0), "-");
}

TEST(row_text, speedups) {
  EXPECT_EQ(speedup_text(1.7349), "1.73x");
  EXPECT_EQ(speedup_text(1234.5), "1234x");
  EXPECT_EQ(speedup_text(0.000771), "0.00077x");
  EXPECT_EQ(speedup_text(0), "-");
}

TEST(row_text, an_outcome_is_the_verdict_with_its_reason_or_the_state) {
  EXPECT_EQ(outcome_text(passed_row()), "passed");
  EXPECT_EQ(outcome_text(ended_row(VerdictName::rejected, evidence("stream"))), "rejected (stream)");
  EXPECT_EQ(outcome_text(queued_row()), "queued");
  RunRow running = queued_row();
  running.job.state = JobState::leased;
  EXPECT_EQ(outcome_text(running), "running");
}

TEST(row_text, evidence_names_job_place_rule_message_and_hint) {
  Evidence stream = evidence("stream", "makes a stream");
  stream.hint = "use the current one";
  stream.rule = "CUDA_STREAM";
  stream.place = "a.cu:3";
  const RunRow row = ended_row(VerdictName::rejected, stream);
  EXPECT_EQ(evidence_text(row),
            "a/b: rejected (stream): a.cu:3: rule CUDA_STREAM: makes a stream\n    use the current one\n");
}

TEST(row_text, a_long_message_is_indented_and_harmless) {
  const RunRow row = ended_row(VerdictName::build_failed, evidence("", "a.cu:1: error\n  int x\x1b[0m\n"));
  EXPECT_EQ(evidence_text(row), "a/b: build_failed: a.cu:1: error\n      int x\\x1b[0m\n");
}

TEST(row_text, a_finished_job_is_told_by_its_times_or_its_evidence) {
  EXPECT_EQ(finished_text(passed_row()), "a/b: passed: 10.0 us, the reference 20.0 us, speedup 2.00x\n");
  EXPECT_EQ(finished_text(ended_row(VerdictName::crashed, evidence("", "signal 11"))), "a/b: crashed: signal 11\n");
}

}  // namespace
}  // namespace kq::producer
