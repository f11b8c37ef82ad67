#include "gpu_worker/machine/limited_json.h"

#include <string>

#include <gtest/gtest.h>

#include "core/limits.h"

namespace kq::worker {
namespace {

bool is_parsed(const std::string& text, int depth_max) {
  return !parse_limited(text, depth_max).is_discarded();
}

TEST(LimitedJson, arrays_and_objects_inside_one_another_count) {
  EXPECT_TRUE(is_parsed("1", 0));
  EXPECT_FALSE(is_parsed("[]", 0));
  EXPECT_TRUE(is_parsed(R"([{}, {"a": 1}, []])", 2));
  EXPECT_FALSE(is_parsed(R"([{"a": []}])", 2));
  EXPECT_FALSE(is_parsed(std::string(100'000, '[') + std::string(100'000, ']'), 16));
}

TEST(LimitedJson, brackets_in_a_text_do_not_count) {
  EXPECT_TRUE(is_parsed(R"(["[[{{", "\"[", "\\"])", 1));
  EXPECT_FALSE(is_parsed(R"(["\\", []])", 1));
}

TEST(LimitedJson, text_that_is_no_json_is_discarded) {
  for (const char* text : {"", "{", "]", "'a'", "[1,]", "\"[", "1 2"}) EXPECT_FALSE(is_parsed(text, 4)) << text;
}

// The library's own callback would take more than a minute.
TEST(LimitedJson, a_list_of_very_many_elements_is_parsed_in_linear_time) {
  std::string list = "[";
  while (list.size() < kFileBytesMax) list += "{},";
  EXPECT_TRUE(is_parsed(list + "{}]", 2));
}

}  // namespace
}  // namespace kq::worker
