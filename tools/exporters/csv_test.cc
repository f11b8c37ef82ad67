#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/exporters/testing.h"
#include "tools/table/csv.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

TEST(csv_exporter, every_row_has_a_field_for_every_column) {
  const std::string text =
      exported("csv", {passed_row("relu/fast", 12'500, 25'000),
                       ended_row("relu/odd", VerdictName::crashed, evidence("", "a,b\n\"c\"")), RunRow{}});
  const auto lines = parse_csv(text);
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), 4u);
  for (const CsvLine& line : *lines) EXPECT_EQ(line.fields.size(), columns().size()) << "line " << line.number;
  for (std::size_t i = 0; i < columns().size(); ++i) EXPECT_EQ((*lines)[0].fields[i], columns()[i].name);
}

TEST(csv_exporter, a_message_with_quotes_and_line_breaks_is_quoted) {
  const RunRow row = ended_row("relu/odd", VerdictName::crashed, evidence("", "a,b\n\"c\""));
  EXPECT_EQ(exported("csv", {row}, {.columns = "label,message"}), "label,message\nrelu/odd,\"a,b\n\"\"c\"\"\"\n");
}

TEST(csv_exporter, formulas_have_an_apostrophe_and_numbers_do_not) {
  const RunRow row = ended_row("=cmd()", VerdictName::crashed, evidence("", "-1"));
  EXPECT_EQ(exported("csv", {row}, {.columns = "label,message,attempt"}), "label,message,attempt\n'=cmd(),-1,1\n");
}

}  // namespace
}  // namespace kq::tools
