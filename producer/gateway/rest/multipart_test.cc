#include "producer/gateway/rest/multipart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::gateway {
namespace {

using testing::HasSubstr;

constexpr const char* kType = "multipart/form-data; boundary=B";

std::string part(const std::string& head, const std::string& content) {
  return "--B\r\n" + head + "\r\n\r\n" + content + "\r\n";
}
std::string named(const std::string& name, const std::string& file = "") {
  return "Content-Disposition: form-data; name=\"" + name + "\"" + (file.empty() ? "" : "; filename=\"" + file + "\"");
}

TEST(Multipart, parts_have_names_files_and_any_bytes) {
  const std::string body = part(named("kernel", "a.py") + "\r\nContent-Type: text/plain", "x\r\n--b\r\n\r\n") +
                           part("content-disposition: form-data; filename=q\\.py; name=io", "") + "--B--\r\n";
  const auto parts = parse_form("multipart/form-data; charset=utf-8; boundary=\"B\"", body);
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ((*parts)[0].name, "kernel");
  EXPECT_EQ((*parts)[0].file_name, "a.py");
  EXPECT_EQ((*parts)[0].content, "x\r\n--b\r\n\r\n");
  EXPECT_EQ((*parts)[1].name, "io");
  EXPECT_EQ((*parts)[1].content, "");
}

TEST(Multipart, quotes_may_have_escapes) {
  const auto parts = parse_form(kType, part(named("kernel", "a\\\"b;.py"), "x") + "--B--");
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_EQ((*parts)[0].file_name, "a\"b;.py");
}

TEST(Multipart, text_before_the_first_boundary_is_ignored) {
  EXPECT_TRUE(parse_form(kType, "preamble\r\n" + part(named("a"), "x") + "--B--"));
}

TEST(Multipart, malformed_forms_are_refused) {
  for (const std::string& body : {std::string(), std::string("--B"), std::string("x"), part(named("a"), "x"),
                                  part("X: y", "x") + "--B--", part("Content-Disposition: form-data", "x") + "--B--",
                                  "--B\r\n" + named("a"), "--B " + part(named("a"), "x") + "--B--",
                                  part(named("a") + "\r\nX: " + std::string(kFormHeadBytesMax, 'a'), "x") + "--B--"})
    EXPECT_FALSE(parse_form(kType, body)) << body;
  EXPECT_THAT(parse_form("multipart/form-data", "--B--").error().message, HasSubstr("boundary of 1 to 70"));
  EXPECT_FALSE(parse_form("multipart/form-data; boundary=" + std::string(71, 'a'), "--B--"));
}

TEST(Multipart, the_number_of_parts_is_limited) {
  std::string body;
  for (std::size_t i = 0; i <= kFormPartsMax; ++i) body += part(named("a"), "");
  EXPECT_THAT(parse_form(kType, body + "--B--").error().message, HasSubstr("more than 10001 parts"));
}

}  // namespace
}  // namespace kq::gateway
