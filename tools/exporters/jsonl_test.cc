#include <gtest/gtest.h>

#include <algorithm>

#include "tools/exporters/testing.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

TEST(jsonl_exporter, a_row_is_one_line_that_names_its_schema) {
  const std::string row = exported("jsonl", {ended_row("relu/odd", VerdictName::crashed, evidence("", "two\nlines"))});
  EXPECT_EQ(std::count(row.begin(), row.end(), '\n'), 1);
  EXPECT_EQ(row.find(R"({"schema": "kq.result/1",)"), 0u);
  EXPECT_NE(row.find(R"("message": "two\nlines")"), std::string::npos);
}

TEST(jsonl_exporter, is_the_same_json_as_to_json_returns) {
  const RunRow row = passed_row("relu/fast", 12'500, 25'000);
  EXPECT_EQ(exported("jsonl", {row}), producer::to_text(to_json(row)) + "\n");
}

TEST(jsonl_exporter, an_unknown_value_is_null) {
  EXPECT_EQ(exported("jsonl", {queued_row("relu/slow")}, {.columns = "label,verdict,median_us"}),
            "{\"label\": \"relu/slow\", \"verdict\": null, \"median_us\": null}\n");
}

}  // namespace
}  // namespace kq::tools
