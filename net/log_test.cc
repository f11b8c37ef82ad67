#include "net/log.h"

#include <gtest/gtest.h>

namespace kq::net {
namespace {

TEST(LogTest, a_line_is_one_json_object_with_the_time_in_utc) {
  EXPECT_EQ(
      log_line_json(1'700'000'000'007, "info", "kq-broker", 17, "listening"),
      R"({"time":"2023-11-14T22:13:20.007Z","level":"info","program":"kq-broker","pid":17,"message":"listening"})");
}

TEST(LogTest, control_characters_and_invalid_utf_8_in_a_message_are_escaped) {
  EXPECT_EQ(log_line_json(0, "warning", "p", 1, "a\"b\\c\nd\x1b\xff"),
            "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"warning\",\"program\":\"p\",\"pid\":1,"
            "\"message\":\"a\\\"b\\\\c\\nd\\u001b\xEF\xBF\xBD\"}");
}

}  // namespace
}  // namespace kq::net
