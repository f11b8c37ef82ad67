#include <gtest/gtest.h>

#include <algorithm>

#include "tools/exporters/exporter.h"
#include "tools/testing.h"

namespace kq {
namespace {

TEST(jsonl_exporter, a_row_is_one_line_that_names_its_schema) {
  const std::string row = jsonl_row(ended_row("relu/odd", VerdictName::crashed, evidence("", "two\nlines")));
  EXPECT_EQ(std::count(row.begin(), row.end(), '\n'), 1);
  EXPECT_EQ(row.find(R"({"schema": "kq.result/1",)"), 0u);
  EXPECT_NE(row.find(R"("message": "two\nlines")"), std::string::npos);
}

TEST(jsonl_exporter, what_is_unknown_is_null) {
  const std::string row = jsonl_row(queued_row("relu/slow"));
  EXPECT_NE(row.find(R"("verdict": null)"), std::string::npos);
  EXPECT_NE(row.find(R"("median_us": null)"), std::string::npos);
}

}  // namespace
}  // namespace kq
