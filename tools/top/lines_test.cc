#include "tools/top/lines.h"

#include <gtest/gtest.h>

namespace kq::tools {
namespace {

std::string plain(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) text += text_of(line, false);
  return text;
}

TEST(Lines, a_text_is_cut_between_characters) {
  EXPECT_EQ(cut_to("relu/fast", 9), "relu/fast");
  EXPECT_EQ(cut_to("relu/fast", 5), "relu…");
  EXPECT_EQ(cut_to("äöü", 3), "äöü");
  EXPECT_EQ(cut_to("äöü", 2), "ä…");
  EXPECT_EQ(cut_to("a", 0), "");
}

TEST(Lines, a_line_is_cut_across_its_pieces) {
  const Line line{{"abc"}, {"def", sys::Colour::red}, {"ghi"}};
  EXPECT_EQ(text_of(cut_line(line, 5), false), "abcd…\n");
  EXPECT_EQ(text_of(cut_line(line, 0), false), "abcdefghi\n");
  EXPECT_EQ(text_of(cut_line(line, 9), false), "abcdefghi\n");
}

TEST(Lines, a_table_aligns_numbers_right) {
  EXPECT_EQ(plain(table_lines({{"run"}, {"jobs", true}}, {{{"a"}, {"12"}}, {{"monday"}, {"3"}}}, 0)),
            "run     jobs\n"
            "a         12\n"
            "monday     3\n");
  EXPECT_TRUE(table_lines({{"run"}}, {}, 0).empty());
}

TEST(Lines, the_widest_column_that_may_shrink_is_cut_first) {
  const std::vector<LineColumn> columns{{"worker"}, {"job", false, true}, {"why", false, true}};
  EXPECT_EQ(plain(table_lines(columns, {{{"gpu-1"}, {"a_long_label_of_a_job"}, {"it waits"}}}, 32)),
            "worker  job             why\n"
            "gpu-1   a_long_label_…  it waits\n");
}

TEST(Lines, what_a_job_wrote_cannot_control_the_terminal) {
  EXPECT_EQ(plain(table_lines({{"label"}}, {{{"\x1b[2J\nx"}}}, 0)), "label\n\\x1b[2J\\nx\n");
}

TEST(Lines, colours_are_added_on_demand) {
  EXPECT_EQ(text_of({{"x", sys::Colour::green}}, true), sys::coloured("x", sys::Colour::green) + "\n");
}

}  // namespace
}  // namespace kq::tools
