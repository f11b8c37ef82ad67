#include "net/http/message.h"

#include <gtest/gtest.h>

namespace kq::net {
namespace {

TEST(HttpMessage, escapes_are_decoded) {
  EXPECT_EQ(percent_decoded("a%2Fb+c"), "a/b+c");
  EXPECT_EQ(percent_decoded("a%2fb+c", true), "a/b c");
}

TEST(HttpMessage, malformed_escapes_are_refused) {
  for (const char* text : {"%", "%4", "a%g1", "%00", "100%"}) EXPECT_EQ(percent_decoded(text), std::nullopt) << text;
}

TEST(HttpMessage, values_are_found_by_name) {
  HttpRequest request;
  request.query.emplace("wait", "2");
  request.query.emplace("wait", "3");
  request.headers["host"] = "kq";
  EXPECT_EQ(request.query_value("wait"), "3");
  EXPECT_EQ(request.query_values("wait"), (std::vector<std::string>{"2", "3"}));
  EXPECT_EQ(request.query_value("page"), std::nullopt);
  EXPECT_EQ(request.header("host"), "kq");
}

TEST(HttpMessage, every_status_has_a_phrase) {
  EXPECT_EQ(reason_phrase(404), "Not Found");
  EXPECT_EQ(reason_phrase(799), "Status");
}

}  // namespace
}  // namespace kq::net
