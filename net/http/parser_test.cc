#include "net/http/parser.h"

#include <gtest/gtest.h>

namespace kq::net {
namespace {

HttpHead head_of(std::string_view text) {
  const auto parsed = HttpParser().take_head(text);
  const auto* fault = std::get_if<HttpFault>(&parsed);
  EXPECT_EQ(fault, nullptr) << fault->sentence;
  return fault == nullptr ? std::get<HttpHead>(parsed) : HttpHead{};
}

// Returns the status of the fault, or 0 for a good head.
int fault_of(std::string_view text) {
  const auto parsed = HttpParser().take_head(text);
  const auto* fault = std::get_if<HttpFault>(&parsed);
  return fault == nullptr ? 0 : fault->status;
}

int fault_of_field(const std::string& field) {
  return fault_of("POST / HTTP/1.1\r\nHost: kq\r\n" + field);
}

TEST(HttpParser, a_request_is_read) {
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

TEST(HttpParser, a_client_chooses_whether_the_connection_stays) {
  EXPECT_FALSE(head_of("GET / HTTP/1.1\r\nHost: kq\r\nConnection: close").keeps_alive);
  EXPECT_FALSE(head_of("GET / HTTP/1.0").keeps_alive);
  EXPECT_TRUE(head_of("GET / HTTP/1.0\r\nConnection: Keep-Alive").keeps_alive);
}

TEST(HttpParser, an_absolute_target_names_the_path) {
  EXPECT_EQ(head_of("GET http://kq:80/health?a=b HTTP/1.1\r\nHost: kq").request.path, "/health");
  EXPECT_EQ(head_of("GET http://kq HTTP/1.1\r\nHost: kq").request.path, "/");
}

TEST(HttpParser, malformed_request_lines_are_refused) {
  for (const char* line : {"", "GET", "GET /", "GET  / HTTP/1.1", "G(T / HTTP/1.1", "GET x HTTP/1.1",
                           "GET /%zz HTTP/1.1", "GET /?a=%0 HTTP/1.1", "GET /\x80 HTTP/1.1", "GET / http/1.1"})
    EXPECT_EQ(fault_of(std::string(line) + "\r\nHost: kq"), 400) << line;
  EXPECT_EQ(fault_of("GET / HTTP/2.0\r\nHost: kq"), 505);
  EXPECT_EQ(fault_of("GET /" + std::string(kHttpTargetBytesMax, 'a') + " HTTP/1.1\r\nHost: kq"), 414);
}

TEST(HttpParser, fields_that_two_readers_could_understand_differently_are_refused) {
  for (const char* field : {"Content-Length: 1\r\nContent-Length: 2",
                            "Content-Length: 1, 1",
                            "Content-Length: -1",
                            "Content-Length: 1\r\nTransfer-Encoding: chunked",
                            "Transfer-Encoding: chunked\r\nContent-Length: 1",
                            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                            "Content-Length: 1\r\nContent-Length: 1",
                            "Content-Length: +1",
                            "Content-Length: ",
                            "a: b\r\n folded",
                            "a: b\rc: d",
                            "a: b\r\n\r\nc: d",
                            "a\t: b",
                            ": b",
                            "Content-Length : 1",
                            " folded: line",
                            "no colon",
                            "a: b\x01",
                            "Host: other",
                            "Content-Length: 99999999999999999999",
                            "Expect: x"})
    EXPECT_EQ(fault_of_field(field), 400) << field;
  EXPECT_EQ(fault_of_field("Transfer-Encoding: gzip, chunked"), 501);
  EXPECT_EQ(fault_of_field("Transfer-Encoding: identity"), 501);
  EXPECT_EQ(fault_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked"), 400);
  EXPECT_EQ(fault_of("GET / HTTP/1.1\nHost: kq\n"), 400);
  EXPECT_EQ(fault_of("GET / HTTP/1.1"), 400);
}

TEST(HttpParser, the_number_of_fields_is_limited) {
  std::string text = "GET / HTTP/1.1\r\nHost: kq";
  for (std::size_t i = 0; i < kHttpFieldsMax; ++i) text += "\r\na" + std::to_string(i) + ": b";
  EXPECT_EQ(fault_of(text), 431);
}

constexpr std::size_t kMax = 100;
using State = HttpParser::BodyState;

// A parser that has read the head of a request with a chunked body.
struct ChunkedBody {
  HttpParser parser;
  std::string left;
  std::string body;

  ChunkedBody() { (void)parser.take_head("POST / HTTP/1.1\r\nHost: kq\r\nTransfer-Encoding: chunked"); }
  State take(std::string_view bytes) { return parser.take_chunks(left.append(bytes), body, kMax); }
};

TEST(HttpParser, a_body_is_decoded_however_its_bytes_arrive) {
  const std::string coded = "3;name=value\r\nabc\r\nA ;x=\"y;z\"\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n";
  for (std::size_t step = 1; step <= coded.size(); ++step) {
    ChunkedBody chunked;
    State state = State::partial;
    for (std::size_t at = 0; at < coded.size(); at += step) {
      EXPECT_EQ(state, State::partial) << step;
      state = chunked.take(std::string_view(coded).substr(at, step));
    }
    EXPECT_EQ(state, State::complete) << step;
    EXPECT_EQ(chunked.body, "abc0123456789");
    EXPECT_EQ(chunked.left, "");
  }
}

TEST(HttpParser, an_empty_body_may_arrive_byte_by_byte) {
  ChunkedBody chunked;
  for (const char c : std::string_view("0\r\n\r")) EXPECT_EQ(chunked.take({&c, 1}), State::partial);
  EXPECT_EQ(chunked.take("\n"), State::complete);
}

TEST(HttpParser, bytes_behind_the_body_are_left) {
  ChunkedBody chunked;
  EXPECT_EQ(chunked.take("1\r\nx\r\n0\r\n\r\nGET /"), State::complete);
  EXPECT_EQ(chunked.left, "GET /");
}

TEST(HttpParser, malformed_bodies_are_noticed) {
  for (const char* coded :
       {"\r\n", "x\r\n", "-1\r\n", "3\nabc", "3\r\nabcd\r\n0", "3\r\nabc\n", "11111111111111111\r\n", "0x1\r\n\r\n",
        "1 \r\n", "1;\n\r\n", "1;a=\"\n\"\r\n", "1;a=\"\r\nx\"\r\n", "1\r\nx\r\n0\r\nno colon\r\n\r\n",
        "0\r\nContent-Length: 1\r\n\r\n", "0\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    EXPECT_EQ(ChunkedBody().take(coded), State::malformed) << coded;
  }
}

TEST(HttpParser, a_long_body_is_refused_before_its_content_arrives) {
  ChunkedBody chunked;
  EXPECT_EQ(chunked.take("3c\r\n" + std::string(60, 'a') + "\r\n"), State::partial);
  EXPECT_EQ(chunked.take("29\r\n"), State::too_long);
  EXPECT_EQ(ChunkedBody().take("ffffffffffffffff\r\n"), State::too_long);
}

TEST(HttpParser, extensions_and_trailers_are_limited) {
  const std::string half(kChunkOverheadBytesMax / 2, 'a');
  EXPECT_EQ(ChunkedBody().take("1;" + half + half), State::malformed);
  EXPECT_EQ(ChunkedBody().take("1;" + half + "\r\nx\r\n1;" + half + "\r\n"), State::malformed);
  EXPECT_EQ(ChunkedBody().take("0\r\na: " + half + "\r\nb: " + half + "\r\n\r\n"), State::malformed);
}

TEST(HttpParser, a_trailer_changes_no_header_field) {
  ChunkedBody chunked;
  EXPECT_EQ(chunked.take("0\r\nHost: other\r\nConnection: close\r\n\r\n"), State::complete);
}

}  // namespace
}  // namespace kq::net
