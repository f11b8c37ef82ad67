#include "net/http/head.h"

#include <gtest/gtest.h>

namespace kq::net {
namespace {

HttpHead head_of(std::string_view text) {
  const auto parsed = parse_head(text);
  const auto* fault = std::get_if<HttpFault>(&parsed);
  EXPECT_EQ(fault, nullptr) << fault->sentence;
  return fault == nullptr ? std::get<HttpHead>(parsed) : HttpHead{};
}

// Returns the status of the fault, or 0 for a good head.
int fault_of(std::string_view text) {
  const auto parsed = parse_head(text);
  const auto* fault = std::get_if<HttpFault>(&parsed);
  return fault == nullptr ? 0 : fault->status;
}

int fault_of_field(const std::string& field) {
  return fault_of("POST / HTTP/1.1\r\nHost: kq\r\n" + field);
}

TEST(HttpHead, a_request_is_read) {
  const HttpHead head = head_of(
      "POST /runs/a%2Fb/jobs?wait=5&name=x+y&flag HTTP/1.1\r\nHost: kq:80\r\nContent-Length:  12 \r\n"
      "Accept: a\r\naccept: b");
  EXPECT_EQ(head.request.method, "POST");
  EXPECT_EQ(head.request.path, "/runs/a%2Fb/jobs");
  EXPECT_EQ(head.request.query_value("wait"), "5");
  EXPECT_EQ(head.request.query_value("name"), "x y");
  EXPECT_EQ(head.request.query_value("flag"), "");
  EXPECT_EQ(head.request.headers.at("accept"), "a, b");
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_TRUE(head.keeps_alive);
  EXPECT_TRUE(head.has_body());
}

TEST(HttpHead, a_client_chooses_whether_the_connection_stays) {
  EXPECT_FALSE(head_of("GET / HTTP/1.1\r\nHost: kq\r\nConnection: close").keeps_alive);
  EXPECT_FALSE(head_of("GET / HTTP/1.0").keeps_alive);
  EXPECT_TRUE(head_of("GET / HTTP/1.0\r\nConnection: Keep-Alive").keeps_alive);
}

TEST(HttpHead, an_absolute_target_names_the_path) {
  EXPECT_EQ(head_of("GET http://kq:80/health?a=b HTTP/1.1\r\nHost: kq").request.path, "/health");
  EXPECT_EQ(head_of("GET http://kq HTTP/1.1\r\nHost: kq").request.path, "/");
}

TEST(HttpHead, malformed_request_lines_are_refused) {
  for (const char* line : {"", "GET", "GET /", "GET  / HTTP/1.1", "G(T / HTTP/1.1", "GET x HTTP/1.1",
                           "GET /%zz HTTP/1.1", "GET /?a=%0 HTTP/1.1", "GET /\x80 HTTP/1.1", "GET / http/1.1"})
    EXPECT_EQ(fault_of(std::string(line) + "\r\nHost: kq"), 400) << line;
  EXPECT_EQ(fault_of("GET / HTTP/2.0\r\nHost: kq"), 505);
  EXPECT_EQ(fault_of("GET /" + std::string(kHttpTargetBytesMax, 'a') + " HTTP/1.1\r\nHost: kq"), 414);
}

TEST(HttpHead, fields_that_two_readers_could_understand_differently_are_refused) {
  for (const char* field : {"Content-Length: 1\r\nContent-Length: 2", "Content-Length: 1, 1", "Content-Length: -1",
                            "Content-Length: 1\r\nTransfer-Encoding: chunked", "Content-Length : 1", " folded: line",
                            "no colon", "a: b\x01", "Host: other", "Content-Length: 9999999999999999999", "Expect: x"})
    EXPECT_EQ(fault_of_field(field), 400) << field;
  EXPECT_EQ(fault_of_field("Transfer-Encoding: gzip, chunked"), 501);
  EXPECT_EQ(fault_of("GET / HTTP/1.1\nHost: kq\n"), 400);
  EXPECT_EQ(fault_of("GET / HTTP/1.1"), 400);
}

TEST(HttpHead, the_number_of_fields_is_limited) {
  std::string text = "GET / HTTP/1.1\r\nHost: kq";
  for (std::size_t i = 0; i < kHttpFieldsMax; ++i) text += "\r\na" + std::to_string(i) + ": b";
  EXPECT_EQ(fault_of(text), 431);
}

}  // namespace
}  // namespace kq::net
