#include "tools/table/csv.h"

#include <gtest/gtest.h>

#include <limits>

namespace kq::tools {
namespace {

std::string line(std::vector<Cell> cells) {
  return csv_line(cells);
}

TEST(csv, unknown_and_empty_differ) {
  EXPECT_EQ(line({Cell(), std::string(), std::string("x")}), ",\"\",x\n");
}

TEST(csv, fields_are_quoted_only_where_needed) {
  EXPECT_EQ(csv_field(std::string("a b;c'=1")), "a b;c'=1");
  EXPECT_EQ(csv_field(std::string("a,b")), "\"a,b\"");
  EXPECT_EQ(csv_field(std::string("say \"hi\"")), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field(std::string("two\nlines")), "\"two\nlines\"");
}

TEST(csv, numbers_are_exact_and_locale_free) {
  EXPECT_EQ(csv_field(0.1), "0.1");
  EXPECT_EQ(csv_field(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(csv_field(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(csv_field(std::numeric_limits<double>::quiet_NaN()), "");
  EXPECT_EQ(csv_field(-std::numeric_limits<double>::infinity()), "");
  EXPECT_EQ(csv_field(true), "true");
}

TEST(csv, bytes_that_are_no_text_are_replaced) {
  EXPECT_EQ(csv_field(std::string("a\0b", 3)),
            "\"a\xEF\xBF\xBD"
            "b\"");
  EXPECT_EQ(csv_field(std::string("\xff")), "\xEF\xBF\xBD");
}

TEST(csv, written_values_read_back) {
  const std::vector<std::string> hostile{"plain", "a,b",      "\"",   "\"\"",      "x\ny", "x\r\ny",
                                         "\r",    " padded ", "=1+1", "h\xC3\xA9", ",",    "\n"};
  std::string text;
  for (const std::string& value : hostile) text += line({value, std::string("end")});
  const auto lines = parse_csv(text);
  ASSERT_TRUE(lines) << lines.error().message;
  ASSERT_EQ(lines->size(), hostile.size());
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    EXPECT_EQ((*lines)[i].fields, (std::vector<std::string>{hostile[i], "end"})) << i;
  }
}

TEST(csv, hidden_characters_are_replaced) {
  EXPECT_EQ(parse_csv(line({std::string("\xEF\xBB\xBFx")}))->front().fields, std::vector<std::string>{"\uFFFDx"});
  EXPECT_EQ(csv_field(std::string("relu\u202Eyp.,\u200B")), "\"relu\uFFFDyp.,\uFFFD\"");
}

TEST(csv, formulas_are_harmless_and_read_back) {
  EXPECT_EQ(csv_field(std::string("=cmd()")), "'=cmd()");
  EXPECT_EQ(csv_field(std::string("-a")), "'-a");
  EXPECT_EQ(csv_field(std::string("+-1")), "'+-1");
  EXPECT_EQ(csv_field(std::string("-inf")), "'-inf");
  EXPECT_EQ(csv_field(-1.0), "-1");
  EXPECT_EQ(csv_field(std::string("@a,b")), "\"'@a,b\"");
  EXPECT_EQ(csv_field(std::string("'=1")), "''=1");
  for (const char* text : {"=1", "+1", "-1", "-x", "'-1", "''-1", "@x", "\tx", "\r", "'=1", "''@", "'", "'a", "a=1"})
    EXPECT_EQ(parse_csv(line({std::string(text)}))->front().fields, std::vector<std::string>{text}) << text;
}

TEST(csv, a_text_that_is_a_number_is_no_formula) {
  for (const char* text : {"-1", "-1.5", "+2", "-1e-7"}) EXPECT_EQ(csv_field(std::string(text)), text);
  // Files of earlier versions have an apostrophe before such a number.
  EXPECT_EQ(parse_csv("'-1.5\n")->front().fields, std::vector<std::string>{"-1.5"});
}

TEST(csv, lines_are_numbered_over_quoted_breaks) {
  const auto lines = parse_csv(
      "\xEF\xBB\xBF"
      "a,b\r\n\"x\ny\",2\r\nlast,");
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 3u);
  EXPECT_EQ((*lines)[0].fields, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ((*lines)[1].number, 2u);
  EXPECT_EQ((*lines)[2].number, 4u);
  EXPECT_EQ((*lines)[2].fields, (std::vector<std::string>{"last", ""}));
}

TEST(csv, broken_quotes_are_named_by_line) {
  EXPECT_EQ(parse_csv("a\n\"b\nc").error().message, "line 2: a quote is opened and never closed");
  EXPECT_EQ(parse_csv("a\n\"b\"c\n").error().message, "line 2: a quote inside a field must be doubled");
  EXPECT_EQ(parse_csv("")->size(), 0u);
}

}  // namespace
}  // namespace kq::tools
