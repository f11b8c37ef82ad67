// The contract of every format, over all rows of the table.
#include <gtest/gtest.h>

#include <algorithm>

#include "tools/exporters/exporter.h"
#include "tools/testing.h"

namespace kq {
namespace {

class EveryExporter : public ::testing::TestWithParam<const Exporter*> {};

TEST_P(EveryExporter, is_found_by_its_name) {
  EXPECT_EQ(find_exporter(GetParam()->name), GetParam());
}

TEST_P(EveryExporter, a_row_ends_its_line_and_keeps_what_it_was_given) {
  const std::string row = GetParam()->row(passed_row("relu/fast", 12'500, 25'000));
  EXPECT_EQ(row.back(), '\n');
  for (const char* piece : {"relu/fast", "passed", "12.5"}) EXPECT_NE(row.find(piece), std::string::npos) << piece;
}

TEST_P(EveryExporter, any_row_can_be_written) {
  const std::string header = GetParam()->header();
  EXPECT_TRUE(header.empty() || header.back() == '\n');
  EXPECT_NE(GetParam()->row(queued_row("x/y")), "");
  EXPECT_NE(GetParam()->row(RunRow{}), "");
  EXPECT_NE(GetParam()->row(ended_row("x/y", VerdictName::crashed, evidence("", "\xff,\"\n\r\x1b[2J"))), "");
}

std::vector<const Exporter*> all() {
  std::vector<const Exporter*> found;
  for (const Exporter& exporter : exporters()) found.push_back(&exporter);
  return found;
}
INSTANTIATE_TEST_SUITE_P(all, EveryExporter, ::testing::ValuesIn(all()),
                         [](const auto& row) { return std::string(row.param->name); });

TEST(exporters, an_unknown_name_is_not_found) {
  EXPECT_EQ(find_exporter("xml"), nullptr);
}

}  // namespace
}  // namespace kq
