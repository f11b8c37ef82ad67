#include "net/http/parser.h"

// Asserts of Beast 1.74 fail for a body whose bytes arrive one by one (Beast's pull request 2861); the code behind
// them is right.
#define BOOST_DISABLE_ASSERTS
#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <cctype>
#include <limits>
#include <utility>

namespace kq::net {
namespace {

namespace http = boost::beast::http;
using Text = boost::beast::string_view;
using Bytes = boost::asio::const_buffer;
using ErrorCode = boost::beast::error_code;

constexpr std::size_t kMethodBytesMax = 16;
constexpr char kBadStart[] = "the first line of the request must be METHOD PATH HTTP/1.1";
constexpr char kBadField[] =
    "a header field of the request must be NAME: VALUE on one line, without control characters";
constexpr char kBadEscape[] = " of the request has a malformed escape; %XX with two hexadecimal digits is needed";

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return low;
}

// Returns the text before the next separator, and removes both from `text`.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

bool has_bare_lf(std::string_view text) {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    if (at == 0 || text[at - 1] != '\r') return true;
  }
  return false;
}

std::optional<HttpFault> read_query(std::string_view text, HttpRequest& request) {
  while (!text.empty()) {
    std::string_view value = take_until(text, '&');
    if (value.empty()) continue;
    const std::string_view name = take_until(value, '=');
    auto decoded_name = percent_decoded(name, true);
    auto decoded_value = percent_decoded(value, true);
    if (!decoded_name || !decoded_value) return HttpFault{400, std::string("the query") + kBadEscape};
    request.query.emplace(std::move(*decoded_name), std::move(*decoded_value));
  }
  return std::nullopt;
}

std::optional<HttpFault> read_target(std::string_view target, HttpRequest& request) {
  if (target.size() > kHttpTargetBytesMax) {
    return HttpFault{414, "the path and query of the request have " + std::to_string(target.size()) +
                              " bytes, at most " + std::to_string(kHttpTargetBytesMax) + " are allowed"};
  }
  if (target.starts_with("http://")) {  // a client that takes this server for a proxy names the host too
    target.remove_prefix(std::min(target.find('/', 7), target.size()));
    if (target.empty()) target = "/";
  }
  const bool is_ascii = std::all_of(target.begin(), target.end(), [](char c) { return c > 0x20 && c < 0x7F; });
  if (!target.starts_with('/') || !is_ascii)
    return HttpFault{400, "the path of the request must begin with / and have printable ASCII characters only"};
  request.path = take_until(target, '?');
  if (!percent_decoded(request.path)) return HttpFault{400, std::string("the path") + kBadEscape};
  return read_query(target.substr(0, target.find('#')), request);
}

}  // namespace

struct HttpParser::Callbacks final : http::basic_parser<true> {
  HttpHead head;
  std::optional<HttpFault> fault;
  bool is_head_complete = false;
  std::size_t fields = 0;
  std::size_t overhead = 0;  // bytes of extensions and trailers so far
  std::string* body = nullptr;

  std::optional<HttpFault> read_framing();
  void refuse(ErrorCode& error, HttpFault found) {
    fault = std::move(found);
    error = http::error::bad_value;
  }
  void count_overhead(ErrorCode& error, std::size_t bytes) {
    if ((overhead += bytes) > kChunkOverheadBytesMax) error = http::error::bad_chunk_extension;
  }

  void on_request_impl(http::verb, Text method, Text target, int version, ErrorCode& error) override {
    head.is_version_1_0 = version == 10;
    head.request.method = std::string(method);
    if (method.size() > kMethodBytesMax) return refuse(error, {400, kBadStart});
    if (auto wrong = read_target({target.data(), target.size()}, head.request)) refuse(error, std::move(*wrong));
  }
  void on_field_impl(http::field, Text name, Text value, ErrorCode& error) override {
    if (is_head_complete) return count_overhead(error, name.size() + value.size() + 4);  // a field of the trailer
    if (++fields > kHttpFieldsMax)
      return refuse(error, {431, "the request has more than " + std::to_string(kHttpFieldsMax) + " header fields"});
    const auto [place, is_new] = head.request.headers.try_emplace(lower({name.data(), name.size()}), value);
    if (is_new) return;
    if (place->first == "host" || place->first == "content-length" || place->first == "authorization")
      return refuse(error, {400, "the request has the header field " + place->first + " twice"});
    place->second.append(", ").append(value.data(), value.size());
  }
  void on_chunk_header_impl(std::uint64_t, Text extensions, ErrorCode& error) override {
    // Beast lets a quoted value have any byte. Other programs end the line at a line feed.
    if (extensions.find('\n') != Text::npos) error = http::error::bad_chunk_extension;
    count_overhead(error, extensions.size());
  }
  std::size_t on_chunk_body_impl(std::uint64_t, Text bytes, ErrorCode&) override {
    body->append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_response_impl(int, Text, int, ErrorCode&) override {}
  void on_header_impl(ErrorCode&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(Text, ErrorCode&) override { return 0; }
  void on_finish_impl(ErrorCode&) override {}
};

// Reads from the header fields how the body is framed and what the client expects. Beast takes repeated equal lengths
// and unknown codings.
std::optional<HttpFault> HttpParser::Callbacks::read_framing() {
  const HttpRequest& request = head.request;
  if (!head.is_version_1_0 && !request.header("host")) return HttpFault{400, "the request has no header field Host"};
  const auto coding = request.header("transfer-encoding");
  if (coding && lower(*coding) != "chunked")
    return HttpFault{501, "the only transfer encoding that this server knows is chunked"};
  if (coding && head.is_version_1_0) return HttpFault{400, "a request of HTTP/1.0 has no Transfer-Encoding"};
  const auto length = request.header("content-length");
  if (length && length->find_first_not_of("0123456789") != std::string::npos)
    return HttpFault{400, "the Content-Length of the request must be one number of bytes"};
  const auto expected = request.header("expect");
  if (expected && lower(*expected) != "100-continue")
    return HttpFault{400, "the only expectation that is known is 100-continue"};
  head.is_chunked = chunked();
  if (length) head.content_length = content_length().value();
  head.keeps_alive = keep_alive();
  head.expects_continue = expected && !head.is_version_1_0;
  return std::nullopt;
}

HttpParser::HttpParser() : callbacks_(std::make_unique<Callbacks>()) {
  callbacks_->header_limit(std::numeric_limits<std::uint32_t>::max());  // the caller has limited the head
  callbacks_->body_limit(std::numeric_limits<std::uint64_t>::max());    // take_chunks() limits the body
}

HttpParser::~HttpParser() = default;

std::variant<HttpHead, HttpFault> HttpParser::take_head(std::string_view text) {
  Callbacks& parser = *callbacks_;
  if (has_bare_lf(text)) return HttpFault{400, "each line of the head must end in CR LF"};
  if (text.find("\r\n ") != std::string_view::npos || text.find("\r\n\t") != std::string_view::npos)
    return HttpFault{400, kBadField};
  const std::string whole = std::string(text) + "\r\n\r\n";
  ErrorCode error;
  const std::size_t used = parser.put(Bytes(whole.data(), whole.size()), error);
  if (parser.fault) return *parser.fault;
  if (error == http::error::bad_version && text.substr(0, text.find('\r')).find(" HTTP/") != std::string_view::npos)
    return HttpFault{505, "this server speaks HTTP/1.1 and HTTP/1.0"};
  if (error == http::error::bad_content_length || error == http::error::bad_transfer_encoding)
    return HttpFault{400, "the request must have one Content-Length, a number of bytes, or one Transfer-Encoding"};
  if (error || used != whole.size()) return HttpFault{400, parser.head.request.path.empty() ? kBadStart : kBadField};
  parser.is_head_complete = true;
  if (auto wrong = parser.read_framing()) return std::move(*wrong);
  return std::move(parser.head);
}

HttpParser::BodyState HttpParser::take_chunks(std::string& bytes, std::string& body, std::size_t body_bytes_max) {
  Callbacks& parser = *callbacks_;
  if (parser.body == nullptr) parser.body_limit(body_bytes_max);
  parser.body = &body;
  parser.eager(true);
  ErrorCode error = http::error::need_more;
  if (!bytes.empty()) bytes.erase(0, parser.put(Bytes(bytes.data(), bytes.size()), error));
  if (error == http::error::body_limit) return BodyState::too_long;
  if (error && error != http::error::need_more) return BodyState::malformed;
  if (parser.is_done()) return BodyState::complete;
  // What is left are the first bytes of a line with a size, or of the last such line and the trailer.
  const std::size_t size_at = bytes.find_first_not_of("\r\n");
  if (size_at != std::string::npos && std::isxdigit(static_cast<unsigned char>(bytes[size_at])) == 0)
    return BodyState::malformed;
  return bytes.size() > kChunkOverheadBytesMax || has_bare_lf(bytes) ? BodyState::malformed : BodyState::partial;
}

}  // namespace kq::net
