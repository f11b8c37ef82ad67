#include "tools/cli/text.h"

#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

TEST(text, invalid_utf8_is_replaced) {
  EXPECT_EQ(valid_utf8("plain\n"), "plain\n");
  EXPECT_EQ(valid_utf8("h\xC3\xA9"), "h\xC3\xA9");
  EXPECT_EQ(valid_utf8("x\xC3"), "x\xEF\xBF\xBD");
}

TEST(text, control_characters_are_made_visible) {
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

TEST(text, times_have_three_digits_and_a_unit) {
  EXPECT_EQ(time_text(1'234), "1.23 us");
  EXPECT_EQ(time_text(12'345), "12.3 us");
  EXPECT_EQ(time_text(123'456), "123 us");
  EXPECT_EQ(time_text(999'600), "1.00 ms");
  EXPECT_EQ(time_text(2.5e9), "2.50 s");
  EXPECT_EQ(time_text(0), "-");
}

TEST(text, speedups) {
  EXPECT_EQ(speedup_text(1.7349), "1.73x");
  EXPECT_EQ(speedup_text(1234.5), "1234x");
  EXPECT_EQ(speedup_text(0), "-");
}

TEST(text, an_outcome_is_the_verdict_with_its_reason_or_the_state) {
  EXPECT_EQ(outcome_text(passed_row("a/b", 1, 2)), "passed");
  EXPECT_EQ(outcome_text(ended_row("a/b", VerdictName::rejected, evidence("stream"))), "rejected (stream)");
  EXPECT_EQ(outcome_text(queued_row("a/b")), "queued");
}

TEST(text, evidence_names_job_place_rule_message_and_hint) {
  Evidence stream = evidence("stream", "makes a stream");
  stream.hint = "use the current one";
  stream.rule = "CUDA_STREAM";
  stream.place = "a.cu:3";
  const RunRow row = ended_row("a/b", VerdictName::rejected, stream);
  EXPECT_EQ(evidence_text(row),
            "a/b: rejected (stream): a.cu:3: rule CUDA_STREAM: makes a stream\n    use the current one\n");
}

TEST(text, a_long_message_is_indented_and_harmless) {
  const RunRow row = ended_row("a/b", VerdictName::build_failed, evidence("", "a.cu:1: error\n  int x\x1b[0m\n"));
  EXPECT_EQ(evidence_text(row), "a/b: build_failed: a.cu:1: error\n      int x\\x1b[0m\n");
}

TEST(text, a_table_is_aligned) {
  EXPECT_EQ(table({{"label"}, {"median", true}}, {{"a", "1.00 us"}, {"longer", "-"}}),
            "label    median\n"
            "a       1.00 us\n"
            "longer        -\n");
}

}  // namespace
}  // namespace kq::tools
