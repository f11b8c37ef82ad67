#include "tools/views/side_by_side.h"

#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

RunRow with_cases(RunRow row, double time_ns) {
  CaseResult test{
      .workload = "test.0 (n: 1)", .weight = 0, .verdict = passed_row("x", 0, 0).result->verdict, .samples = {}};
  CaseResult timed{.workload = "benchmark.0 (n: 2)",
                   .weight = 1,
                   .verdict = passed_row("x", time_ns, 0).result->verdict,
                   .samples = {}};
  row.result->cases = {test, timed};
  return row;
}

RunRow own(RunRow row) {
  row.entry.submission.label += kSelfReportedSuffix;
  row.entry.submission.backend = Backend::eval_program;
  return row;
}

TEST(side_by_side, each_case_has_both_times_and_their_ratio) {
  SideBySide view;
  view.add(with_cases(passed_row("add/a", 15'000, 30'000), 15'000));
  view.add(own(with_cases(passed_row("add/a", 10'000, 0), 10'000)));
  EXPECT_TRUE(view.has_pairs());
  EXPECT_EQ(view.table_text(),
            "submission  case                self-reported     mean  judged by kq   median  median / mean\n"
            "add/a       test.0 (n: 1)       passed               -  passed              -              -\n"
            "add/a       benchmark.0 (n: 2)  passed         10.0 us  passed        15.0 us           1.50\n"
            "add/a       (all)               passed         10.0 us  passed        15.0 us           1.50\n"
            "1 submission judged in both ways: 0 with another verdict\n");
}

TEST(side_by_side, other_verdicts_are_counted_and_single_jobs_left_out) {
  SideBySide view;
  view.add(passed_row("add/alone", 1'000, 2'000));
  EXPECT_FALSE(view.has_pairs());
  view.add(ended_row("add/b", VerdictName::wrong_answer, evidence("value", "off")));
  view.add(own(passed_row("add/b", 10'000, 0)));
  EXPECT_NE(view.table_text().find("wrong_answer (value)"), std::string::npos);
  EXPECT_NE(view.table_text().find("1 submission judged in both ways: 1 with another verdict\n"), std::string::npos);
  EXPECT_EQ(view.table_text().find("add/alone"), std::string::npos);
}

}  // namespace
}  // namespace kq::tools
