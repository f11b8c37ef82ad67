#include "tools/views/results_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/client/json.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

std::string shown(ResultsView& view, const std::vector<RunRow>& rows) {
  std::string text;
  for (const RunRow& row : rows) text += view.add(row);
  return text + view.finish();
}

const RunRow kPassed = passed_row("relu/fast", 10'000, 20'000, 1);
const RunRow kWrong = ended_row("relu/wrong", VerdictName::wrong_answer, evidence("shape", "is (3), must be (4)"), 2);
const RunRow kAbandoned = ended_row("relu/lost", VerdictName::abandoned, evidence("", "worker gone"), 3);
const RunRow kQueued = queued_row("relu/later", 4);

TEST(results_view, a_table_with_figures_and_counts) {
  ResultsView view({}, "r1");
  EXPECT_EQ(shown(view, {kPassed, kWrong}),
            "label       device    verdict                    median    reference    speedup\n"
            "relu/fast   Test CPU  passed                10.0 us ±1%  20.0 us ±1%  2.00x ±1%\n"
            "relu/wrong  Test CPU  wrong_answer (shape)            -            -          -\n"
            "2 jobs: 1 passed, 1 wrong_answer\n");
}

TEST(results_view, jobs_of_several_problems_have_a_column_for_it) {
  RunRow other = kWrong;
  other.entry.submission.problem.name = "gelu";
  ResultsView view({}, "r1");
  EXPECT_EQ(shown(view, {kPassed, other}),
            "label       problem  device    verdict                    median    reference    speedup\n"
            "relu/fast   relu     Test CPU  passed                10.0 us ±1%  20.0 us ±1%  2.00x ±1%\n"
            "relu/wrong  gelu     Test CPU  wrong_answer (shape)            -            -          -\n"
            "2 jobs: 1 passed, 1 wrong_answer\n");
}

TEST(results_view, kernels_with_their_owners_and_shares) {
  ResultsView view({.kernels = true}, "r1");
  RunRow own = kPassed;
  own.result->kernels_ran =
      KernelsRan{.calls = 2,
                 .kernels = {{.name = "relu(float*)", .owner = KernelOwner::submission, .count = 2, .ns = 30'000},
                             {.name = "at::copy", .owner = KernelOwner::torch, .count = 4, .ns = 10'000}}};
  EXPECT_EQ(shown(view, {own, kWrong}),
            "label       owner       launches     time   share  kernel\n"
            "relu/fast   submission         2  30.0 us  75.0 %  relu(float*)\n"
            "relu/fast   torch              4  10.0 us  25.0 %  at::copy\n"
            "relu/wrong  -                  -        -       -  unknown\n"
            "2 jobs: 1 passed, 1 wrong_answer\n");
}

TEST(results_view, another_baseline_is_named) {
  RunRow compiled = kPassed;
  compiled.entry.submission.trials.baseline = Baseline::compile;
  ResultsView view({}, "r1");
  EXPECT_THAT(shown(view, {compiled}), HasSubstr("20.0 us ±1% (compile)"));
}

TEST(results_view, failures_with_their_evidence) {
  ResultsView view({.only_failed = true}, "r1");
  EXPECT_EQ(shown(view, {kPassed, kWrong, kQueued}),
            "relu/wrong: wrong_answer (shape): is (3), must be (4)\n3 jobs: 1 passed, 1 queued, 1 wrong_answer\n");
}

TEST(results_view, json_is_one_object_of_full_rows) {
  ResultsView view({.json = true}, "r1");
  const auto json = producer::parse_json(shown(view, {kPassed, kWrong}));
  ASSERT_TRUE(json) << json.error().message;
  const producer::JsonArray* rows = json->find("rows")->array();
  ASSERT_NE(rows, nullptr);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(*(*rows)[1].find("reason")->text(), "shape");
  EXPECT_EQ(*json->find("counts")->find("passed")->integer(), 1);
}

TEST(results_view, json_without_rows_is_still_json) {
  ResultsView view({.json = true, .only_failed = true}, "r1");
  const auto json = producer::parse_json(shown(view, {kPassed}));
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_TRUE(json->find("rows")->array()->empty());
}

TEST(results_view, exit_codes) {
  const auto code = [](const std::vector<RunRow>& rows) {
    ResultsView view({}, "r1");
    shown(view, rows);
    return view.exit_code();
  };
  EXPECT_EQ(code({}), ExitCode::nothing);
  EXPECT_EQ(code({kPassed}), ExitCode::ok);
  EXPECT_EQ(code({kPassed, kWrong}), ExitCode::job_failed);
  EXPECT_EQ(code({kPassed, kWrong, kAbandoned}), ExitCode::our_fault);
  EXPECT_EQ(code({kPassed, kAbandoned, kQueued}), ExitCode::gave_up);
}

TEST(results_view, verdicts_have_colours_on_a_terminal) {
  ResultsView view({.colours = true}, "r");
  view.add(passed_row("a", 1'000, 2'000));
  EXPECT_NE(view.finish().find("\x1b[32mpassed"), std::string::npos);
  ResultsView plain({}, "r");
  plain.add(passed_row("a", 1'000, 2'000));
  EXPECT_EQ(plain.finish().find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace kq::tools
