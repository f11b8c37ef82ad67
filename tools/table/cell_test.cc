#include "tools/table/cell.h"

#include <gtest/gtest.h>

#include <limits>

namespace kq::tools {
namespace {

// Returns the JSON text of a cell, and checks that append_json() and to_json() agree.
std::string json(const Cell& cell) {
  std::string line;
  append_json(cell, line);
  EXPECT_EQ(line, producer::to_text(to_json(cell)));
  return line;
}

TEST(cell, unknown_values_and_non_finite_numbers_are_null) {
  EXPECT_EQ(json(Cell()), "null");
  EXPECT_EQ(json(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(json(std::numeric_limits<double>::quiet_NaN()), "null");
}

TEST(cell, integers_that_a_double_cannot_hold_are_strings) {
  EXPECT_EQ(json(std::uint64_t{1} << 53), "9007199254740992");
  EXPECT_EQ(json((std::uint64_t{1} << 53) + 1), R"("9007199254740993")");
}

TEST(cell, other_values_are_unchanged) {
  EXPECT_EQ(json(true), "true");
  EXPECT_EQ(json(0.1), "0.1");
  EXPECT_EQ(json(2.0), "2.0");
  EXPECT_EQ(json(1e300), "1e+300");
  EXPECT_EQ(json(std::string("a\"\xff")), "\"a\\\"\xEF\xBF\xBD\"");
}

TEST(cell, a_number_is_the_whole_text) {
  EXPECT_EQ(number_in("-1.5"), -1.5);
  EXPECT_EQ(number_in("+2"), 2);
  EXPECT_EQ(number_in("1e-3"), 1e-3);
  EXPECT_EQ(number_in("-inf"), -std::numeric_limits<double>::infinity());
  for (const char* text : {"", "-", "+", "+-1", "++1", " 1", "1 ", "1,5", "0x1", "nan", "1e999", "v1"})
    EXPECT_FALSE(number_in(text)) << text;
}

TEST(cell, times_are_rfc_3339_in_utc) {
  EXPECT_EQ(utc_time(1'700'000'000'007), Cell(std::string("2023-11-14T22:13:20.007000Z")));
  EXPECT_EQ(utc_time(951'868'799'999), Cell(std::string("2000-02-29T23:59:59.999000Z")));
  EXPECT_EQ(utc_time(253'402'300'799'999), Cell(std::string("9999-12-31T23:59:59.999000Z")));
  EXPECT_EQ(utc_time(0), Cell());
}

}  // namespace
}  // namespace kq::tools
