#include <gtest/gtest.h>

#include "tools/columns.h"
#include "tools/csv.h"
#include "tools/exporters/exporter.h"
#include "tools/testing.h"

namespace kq {
namespace {

TEST(csv_exporter, every_row_has_a_field_for_every_column) {
  const std::string text = csv_header() + csv_row(passed_row("relu/fast", 12'500, 25'000)) +
                           csv_row(ended_row("relu/odd", VerdictName::crashed, evidence("", "a,b\n\"c\""))) +
                           csv_row(RunRow{});
  const auto lines = parse_csv(text);
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), 4u);
  for (const CsvLine& line : *lines) EXPECT_EQ(line.fields.size(), columns().size()) << "line " << line.number;
  for (std::size_t i = 0; i < columns().size(); ++i) EXPECT_EQ((*lines)[0].fields[i], columns()[i].name);
}

TEST(csv_exporter, a_message_survives) {
  const auto lines =
      parse_csv(csv_header() + csv_row(ended_row("relu/odd", VerdictName::crashed, evidence("", "a,b\n\"c\""))));
  ASSERT_TRUE(lines);
  for (std::size_t i = 0; i < columns().size(); ++i) {
    if (columns()[i].name != "message") continue;
    EXPECT_EQ((*lines)[1].fields[i], "a,b\n\"c\"");
  }
}

}  // namespace
}  // namespace kq
