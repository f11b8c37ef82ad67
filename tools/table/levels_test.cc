#include "tools/table/levels.h"

#include <gtest/gtest.h>

#include <set>

#include "tools/testing.h"

namespace kq::tools {
namespace {

RunRow sampled() {
  RunRow row = passed_row("relu/fast", 1'000, 2'000);
  row.result->samples = {.submission_ns = {1'000, 1'100}, .reference_ns = {2'000}};
  return row;
}

TEST(levels, a_job_has_a_row_per_sample_of_both_sides) {
  const Level& level = *find_level("sample");
  const RunRow row = sampled();
  ASSERT_EQ(level.items(row), 3u);
  EXPECT_EQ(level.items(queued_row("relu/later")), 0u);
  EXPECT_EQ(level.columns[0].get(row, 1), Cell(std::string("submission")));
  EXPECT_EQ(level.columns[1].get(row, 1), Cell(std::uint64_t{1}));
  EXPECT_EQ(level.columns[2].get(row, 1), Cell(1.1));
  EXPECT_EQ(level.columns[0].get(row, 2), Cell(std::string("reference")));
  EXPECT_EQ(level.columns[1].get(row, 2), Cell(std::uint64_t{0}));
  EXPECT_EQ(level.columns[2].get(row, 2), Cell(2.0));
}

TEST(levels, a_profiled_job_has_a_row_per_figure_of_each_kernel) {
  const Level& level = *find_level("metric");
  RunRow row = passed_row("relu/fast", 1'000, 2'000);
  EXPECT_EQ(level.items(row), 0u);
  row.result->profile =
      Profile{.kernels = {{"fill", {{"a.b_pct", 1.5}}}, {"nothing", {}}, {"relu", {{"a.b_pct", 2.5}, {"c.d", 7}}}}};
  ASSERT_EQ(level.items(row), 3u);
  EXPECT_EQ(level.columns[1].get(row, 0), Cell(std::string("fill")));
  EXPECT_EQ(level.columns[0].get(row, 2), Cell(std::uint64_t{2}));
  EXPECT_EQ(level.columns[1].get(row, 2), Cell(std::string("relu")));
  EXPECT_EQ(level.columns[2].get(row, 2), Cell(std::string("c.d")));
  EXPECT_EQ(level.columns[3].get(row, 2), Cell(7.0));
}

TEST(levels, a_problem_of_one_case_has_one_row) {
  const Level& level = *find_level("case");
  ASSERT_EQ(level.items(sampled()), 1u);
  EXPECT_EQ(level.columns[1].get(sampled(), 0), Cell(std::string("default")));
}

TEST(levels, item_columns_have_distinct_names_and_default_job_columns_exist) {
  std::set<std::string_view> of_job;
  for (const Column& column : columns()) of_job.insert(column.name);
  for (const Level& level : levels()) {
    EXPECT_EQ(find_level(level.name), &level);
    for (const ItemColumn& column : level.columns) EXPECT_FALSE(of_job.contains(column.name)) << column.name;
    for (const std::string_view name : level.of_job) EXPECT_TRUE(of_job.contains(name)) << name;
  }
  EXPECT_EQ(find_level("kernel"), nullptr);
}

}  // namespace
}  // namespace kq::tools
