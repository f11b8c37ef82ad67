#include "tools/kernelbench/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

RunRow sample(std::uint32_t problem, std::uint32_t sample_id, RunRow row) {
  row.entry.submission.label = "level_1_problem_" + std::to_string(problem) + "_sample_" + std::to_string(sample_id);
  row.entry.submission.problem.file = std::to_string(problem) + "_p.py";
  return row;
}

KernelBenchFigures example() {
  KernelBenchFigures figures;
  figures.add(sample(1, 0, passed_row("x", 1e6, 2e6)), false);
  figures.add(sample(1, 1, ended_row("x", VerdictName::wrong_answer, evidence_at(Stage::judge))), false);
  figures.add(sample(2, 0, ended_row("x", VerdictName::build_failed, evidence_at(Stage::build))), false);
  figures.add(sample(10, 0, queued_row("x")), false);
  return figures;
}

TEST(kernelbench_summary, the_table_has_problems_in_numeric_order_and_a_line_per_level) {
  const KernelBenchFigures figures = example();
  EXPECT_EQ(kernelbench_table({.run = "r1", .figures = figures}),
            "level  problem  name     compiled  correct  runtime  speedup\n"
            "    1        1  1_p.py        2/2      1/2  1.00 ms    2.00x\n"
            "    1        2  2_p.py        0/1      0/1        -        -\n"
            "    1       10  10_p.py       0/0      0/0        -        -\n"
            "level 1: 2 of 3 problems evaluated, compiled 33.3%, correct 33.3%, geometric mean speedup 2.0000, fast_p "
            "0.0:0.3333 0.5:0.3333 "
            "0.8:0.3333 1.0:0.3333 1.5:0.3333 2.0:0, pass@1 0.2500\n");
}

TEST(kernelbench_summary, the_table_has_no_figure_for_a_k_above_all_numbers_of_samples) {
  const KernelBenchFigures figures = example();
  EXPECT_THAT(kernelbench_table({.run = "r1", .figures = figures, .ks = {1, 2, 5}}),
              HasSubstr("pass@1 0.2500 pass@2 0.5000 pass@5 -\n"));
}

TEST(kernelbench_summary, json_has_the_keys_of_kernelbench_s_analysis) {
  const KernelBenchFigures figures = example();
  const std::string json = producer::to_text(kernelbench_json({.run = "r1", .figures = figures, .ks = {1, 2}}));
  EXPECT_EQ(
      json.find(
          R"({"schema": "kq.kernelbench/1", "run": "r1", "levels": [{"run_name": "r1", "level": 1, )"
          R"("hardware": "Test CPU", "total_count": 3, )"
          R"("total_eval": 2, "compiled_count": 1, "correct_count": 1, "compilation_rate": 0.3333333333333333, )"),
      0u)
      << json;
  EXPECT_THAT(json, HasSubstr(R"("fast_p": {"0.0": 0.3333333333333333, "0.5": )"));
  EXPECT_THAT(json, HasSubstr(R"("pass@1": 0.5, "pass@2": 1.0})"));
  EXPECT_THAT(json, HasSubstr(R"("pass@1": 0.0, "pass@2": null})"));
}

TEST(kernelbench_summary, csv_is_a_line_per_problem) {
  const KernelBenchFigures figures = example();
  EXPECT_THAT(kernelbench_csv({.run = "r1", .figures = figures}),
              HasSubstr("level,problem_id,name,samples_n,compiled_n,correct_n,runtime_ms,speedup\n1,1,1_p.py,2,2,1,1,"
                        "2\n1,2,2_p.py,1,0,0,,\n"));
}

}  // namespace
}  // namespace kq::tools
