#include "producer/client/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::producer {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string error_text(std::string_view text) {
  const auto json = parse_json(text);
  return json ? "accepted" : json.error().message;
}

TEST(Json, reads_every_kind_of_value) {
  const auto json = parse_json(R"({"n":null,"b":true,"i":-3,"f":1.5,"t":"x\ny","l":[1,[2]],"o":{"k":"v"}})");
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->find("n"), nullptr);
  EXPECT_EQ(json->find("gone"), nullptr);
  EXPECT_TRUE(*json->find("b")->boolean());
  EXPECT_EQ(*json->find("i")->integer(), -3);
  EXPECT_EQ(*json->find("f")->floating(), 1.5);
  EXPECT_EQ(*json->find("t")->text(), "x\ny");
  EXPECT_EQ(json->find("l")->array()->size(), 2u);
  EXPECT_EQ(*json->find("o")->find("k")->text(), "v");
  EXPECT_EQ(to_text(*json),
            R"({"n": null, "b": true, "i": -3, "f": 1.5, "t": "x\ny", "l": [1, [2]], "o": {"k": "v"}})");
}

TEST(Json, an_integer_that_does_not_fit_is_a_floating_point_number) {
  EXPECT_EQ(*parse_json("9223372036854775807")->integer(), 9223372036854775807);
  EXPECT_NE(parse_json("9223372036854775808")->floating(), nullptr);
}

TEST(Json, says_where_it_stops_being_json) {
  EXPECT_THAT(error_text("{\"a\": x}"), StartsWith("column 7: "));
  EXPECT_THAT(error_text("{\"a\": 1,\n  b}"), StartsWith("line 2, column 3: "));
  EXPECT_THAT(error_text(""), StartsWith("column 1: "));
  EXPECT_THAT(error_text("{} {}"), StartsWith("column 4: "));
  EXPECT_THAT(error_text("{\"a\": 1"), HasSubstr("unexpected end of input"));
}

TEST(Json, refuses_input_that_parsers_read_differently) {
  EXPECT_EQ(error_text(R"({"a":1,"a":2})"), "key 'a' appears twice");
  EXPECT_THAT(error_text("{\"a\":\"\xFF\"}"), HasSubstr("ill-formed UTF-8"));
  EXPECT_EQ(error_text("1e999"), "column 5: number overflow; last read: '1e999'");
  EXPECT_NE(error_text("NaN"), "accepted");
}

// A comparison of each key with all others would take minutes for a line of the largest size.
TEST(Json, an_object_of_many_keys_is_read_fast) {
  std::string text = "{";
  for (int i = 0; i < 500'000; ++i) text += "\"" + std::to_string(i) + "\":0,";
  EXPECT_EQ(error_text(text + "\"x\":0}"), "accepted");
  EXPECT_EQ(error_text(text + "\"7\":0}"), "key '7' appears twice");
}

TEST(Json, an_error_text_quotes_a_limited_part_of_the_input) {
  const std::string large(1'000'000, 'x');
  EXPECT_LT(error_text("{\"a\": \"" + large).size(), 300u);
  EXPECT_THAT(error_text("{\"a\": \"" + large), HasSubstr("missing closing quote; last read: '...xxx"));
  EXPECT_EQ(error_text("{\"" + large + "\":0,\"" + large + "\":0}"),
            "key '" + large.substr(0, 64) + "...' appears twice");
}

// The parser's own text about such a number has no place, and quotes the whole number.
TEST(Json, a_number_that_is_too_large_has_a_place) {
  EXPECT_EQ(error_text("1" + std::string(375, '0')),
            "column 376: number overflow; last read: '..." + std::string(64, '0') + "'");
  EXPECT_EQ(error_text("{\"a\": 1,\n  \"b\": -1e400}"), "line 2, column 13: number overflow; last read: '-1e400'");
}

TEST(Json, depth_is_bounded) {
  EXPECT_EQ(error_text(std::string(32, '[') + std::string(32, ']')), "accepted");
  EXPECT_EQ(error_text(std::string(1'000'000, '[')), "nested more than 32 deep");
}

TEST(Json, quotes_any_bytes) {
  EXPECT_EQ(json_quoted("a\"b\n\x01"), R"("a\"b\n\u0001")");
  EXPECT_EQ(json_quoted("\xFF"), "\"\xEF\xBF\xBD\"");
}

TEST(Json, describes_values_for_error_texts) {
  EXPECT_EQ(described(Json{std::string("hip")}), "'hip'");
  EXPECT_EQ(described(Json{std::int64_t{12}}), "12");
  EXPECT_EQ(described(Json{JsonArray{}}), "a list");
  EXPECT_EQ(described(Json{std::string(100, 'x')}), "'" + std::string(64, 'x') + "...'");
  EXPECT_EQ(described(Json{std::string(63, 'x') + "\xC3\xA9"}), "'" + std::string(63, 'x') + "...'");
}

}  // namespace
}  // namespace kq::producer
