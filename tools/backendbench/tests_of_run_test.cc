#include "tools/backendbench/tests_of_run.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tools/testing.h"

namespace kq::tools::backendbench {
namespace {

using Added = TestsOfRun::Added;

RunRow tagged(RunRow row, std::string op, std::string args, std::string test = "both") {
  row.entry.submission.tags = {{"op", std::move(op)}, {"args", std::move(args)}, {"test", std::move(test)}};
  return row;
}
RunRow passed(std::string op, std::string args, double speedup, Sequence seq = 1) {
  return tagged(passed_row("x", 1'000'000, 1'000'000 * speedup, seq), std::move(op), std::move(args));
}
RunRow wrong(std::string op, std::string args) {
  return tagged(ended_row("x", VerdictName::wrong_answer, evidence("value", "it differs")), std::move(op),
                std::move(args));
}

TestsOfRun tests_of(const std::vector<RunRow>& rows) {
  TestsOfRun tests;
  for (const RunRow& row : rows) EXPECT_TRUE(tests.add(row));
  return tests;
}

TEST(tests_of_run, a_passed_row_is_two_tests) {
  const TestsOfRun tests = tests_of({passed("add.Tensor", "a", 2)});
  const CallTests& test = tests.tests().at({"add.Tensor", "a"});
  EXPECT_TRUE(test.correctness->is_correct);
  EXPECT_TRUE(test.performance->is_successful);
  EXPECT_DOUBLE_EQ(test.performance->speedup, 2);
  EXPECT_DOUBLE_EQ(test.performance->time_ms, 1);
  EXPECT_DOUBLE_EQ(test.performance->reference_time_ms, 2);
}

TEST(tests_of_run, a_row_of_one_kind_is_one_test) {
  const TestsOfRun tests = tests_of({tagged(passed_row("x", 1, 2), "relu.default", "a", "correctness"),
                                     tagged(passed_row("y", 1, 2), "relu.default", "b", "performance")});
  EXPECT_FALSE(tests.tests().at({"relu.default", "a"}).performance);
  EXPECT_FALSE(tests.tests().at({"relu.default", "b"}).correctness);
}

TEST(tests_of_run, the_text_of_the_arguments_may_lie_in_several_tags) {
  RunRow row = passed("add.Tensor", "a", 2);
  row.entry.submission.tags["args_1"] = "b";
  row.entry.submission.tags["args_2"] = "c";
  EXPECT_TRUE(tests_of({row}).tests().contains({"add.Tensor", "abc"}));
}

TEST(tests_of_run, what_says_nothing_about_the_kernel_is_no_test) {
  TestsOfRun tests;
  EXPECT_EQ(*tests.add(passed_row("x", 1, 1)), Added::no_tags);
  EXPECT_EQ(*tests.add(tagged(queued_row("x"), "add.Tensor", "a")), Added::no_result);
  EXPECT_EQ(*tests.add(tagged(ended_row("x", VerdictName::problem_invalid), "add.Tensor", "a")), Added::no_result);
  EXPECT_TRUE(tests.tests().empty());
}

TEST(tests_of_run, the_newest_job_of_a_call_counts) {
  TestsOfRun tests;
  EXPECT_EQ(*tests.add(passed("add.Tensor", "a", 2, 7)), Added::test);
  EXPECT_EQ(*tests.add(passed("add.Tensor", "a", 3, 5)), Added::older_test);
  EXPECT_EQ(*tests.add(passed("add.Tensor", "a", 4, 9)), Added::newer_test);
  EXPECT_DOUBLE_EQ(tests.tests().at({"add.Tensor", "a"}).performance->speedup, 4);
}

TEST(tests_of_run, a_stream_has_the_text_of_backendbench_and_no_speedup) {
  const TestsOfRun tests =
      tests_of({tagged(ended_row("x", VerdictName::rejected, evidence("stream", "k.py:3")), "add.Tensor", "a")});
  const CallTests& test = tests.tests().at({"add.Tensor", "a"});
  EXPECT_EQ(test.correctness->error, "Skipped: uses CUDA stream");
  EXPECT_TRUE(test.performance->uses_stream);
}

TEST(scores, a_failed_test_is_a_speedup_of_one_only_in_a_strict_score) {
  const TestsOfRun tests = tests_of({passed("add.Tensor", "a", 4), wrong("add.Tensor", "b"), wrong("mul.Tensor", "a")});
  for (const bool strict : {false, true}) {
    const Scoring scoring{.strict = strict, .p = 1};
    const auto operators = tests.operators(scoring);
    EXPECT_DOUBLE_EQ(*operators.at("add.Tensor").speedup, strict ? 2 : 4);
    EXPECT_EQ(operators.at("mul.Tensor").speedup.has_value(), strict);
    EXPECT_DOUBLE_EQ(*operators.at("add.Tensor").geomean_speedup, 4);
    EXPECT_DOUBLE_EQ(operators.at("add.Tensor").correctness_ratio, 0.5);
    const Scores scores = scores_of(operators, scoring);
    EXPECT_DOUBLE_EQ(*scores.correctness, 0);
    EXPECT_DOUBLE_EQ(*scores.performance, strict ? std::sqrt(2) : 4);
    EXPECT_DOUBLE_EQ(*scores.perf_at_p, 0);
  }
}

TEST(scores, perf_at_p_counts_right_operators_above_p) {
  const TestsOfRun tests =
      tests_of({passed("add.Tensor", "a", 2), passed("mul.Tensor", "a", 1), wrong("sub.Tensor", "a")});
  const auto perf_at = [&](double p) {
    return *scores_of(tests.operators({.strict = false, .p = p}), {.strict = false, .p = p}).perf_at_p;
  };
  EXPECT_DOUBLE_EQ(perf_at(1), 1.0 / 3);
  EXPECT_DOUBLE_EQ(perf_at(0.5), 2.0 / 3);
  EXPECT_DOUBLE_EQ(perf_at(2), 0);
}

TEST(scores, an_operator_without_performance_tests_makes_a_strict_performance_score_nan) {
  const TestsOfRun tests =
      tests_of({passed("add.Tensor", "a", 4), tagged(passed_row("x", 1, 2), "relu.default", "a", "correctness")});
  EXPECT_DOUBLE_EQ(*scores_of(tests.operators({}), {}).performance, 4);
  EXPECT_DOUBLE_EQ(*scores_of(tests.operators({}), {}).perf_at_p, 1);
  const Scores strict = scores_of(tests.operators({.strict = true}), {.strict = true});
  EXPECT_TRUE(std::isnan(*strict.performance));
  EXPECT_DOUBLE_EQ(*strict.perf_at_p, 0.5);
}

TEST(scores, unknown_and_zero_errors_count_as_in_backendbench_only_in_a_strict_score) {
  const TestsOfRun tests =
      tests_of({passed("add.Tensor", "a", 4), tagged(ended_row("x", VerdictName::runtime_error), "add.Tensor", "b")});
  EXPECT_DOUBLE_EQ(*tests.operators({}).at("add.Tensor").max_abs_error, 0);
  EXPECT_TRUE(std::isinf(*tests.operators({.strict = true}).at("add.Tensor").max_abs_error));
}

TEST(scores, without_tests_there_are_none) {
  const Scores scores = scores_of({}, {});
  EXPECT_FALSE(scores.correctness || scores.performance || scores.perf_at_p);
}

TEST(scores, an_operator_without_correctness_tests_counts_as_right_only_in_a_strict_score) {
  const TestsOfRun tests = tests_of({tagged(passed_row("x", 1, 2), "relu.default", "a", "performance")});
  EXPECT_FALSE(scores_of(tests.operators({}), {}).correctness);
  EXPECT_DOUBLE_EQ(*scores_of(tests.operators({.strict = true}), {.strict = true}).correctness, 1);
}

}  // namespace
}  // namespace kq::tools::backendbench
