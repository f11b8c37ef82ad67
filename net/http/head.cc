#include "net/http/head.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace kq::net {
namespace {

constexpr std::size_t kMethodBytesMax = 16;
constexpr std::size_t kLengthDigitsMax = 18;

bool is_token_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

// Header values may have every byte but control characters.
bool is_field_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7F;
  });
}

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return low;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Returns the text before the next separator, and removes both from `text`.
std::string_view take_until(std::string_view& text, std::string_view separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + separator.size(), text.size()));
  return taken;
}

// Returns whether a comma-separated header value has the word, in any case.
bool has_word(std::string_view value, std::string_view word) {
  while (!value.empty()) {
    if (lower(trimmed(take_until(value, ","))) == word) return true;
  }
  return false;
}

HttpFault fault(int status, std::string sentence) {
  return {status, std::move(sentence)};
}

std::optional<HttpFault> read_query(std::string_view text, HttpRequest& request) {
  while (!text.empty()) {
    std::string_view value = take_until(text, "&");
    if (value.empty()) continue;
    const std::string_view name = take_until(value, "=");
    auto decoded_name = percent_decoded(name, true);
    auto decoded_value = percent_decoded(value, true);
    if (!decoded_name || !decoded_value) {
      return fault(400, "the query of the request has a malformed escape; %XX with two hexadecimal digits is needed");
    }
    request.query.emplace(std::move(*decoded_name), std::move(*decoded_value));
  }
  return std::nullopt;
}

std::optional<HttpFault> read_request_line(std::string_view line, HttpHead& head) {
  const std::string_view method = take_until(line, " ");
  std::string_view target = take_until(line, " ");
  if (!is_token(method) || method.size() > kMethodBytesMax || target.empty())
    return fault(400, "the first line of the request must be METHOD PATH HTTP/1.1");
  if (line != "HTTP/1.1" && line != "HTTP/1.0") {
    if (line.starts_with("HTTP/")) return fault(505, "this server speaks HTTP/1.1 and HTTP/1.0");
    return fault(400, "the first line of the request must be METHOD PATH HTTP/1.1");
  }
  head.is_version_1_0 = line == "HTTP/1.0";
  head.keeps_alive = !head.is_version_1_0;
  if (target.size() > kHttpTargetBytesMax) {
    return fault(414, "the path and query of the request have " + std::to_string(target.size()) + " bytes, at most " +
                          std::to_string(kHttpTargetBytesMax) + " are allowed");
  }
  if (target.starts_with("http://")) {  // a client that takes this server for a proxy names the host too
    target.remove_prefix(std::min(target.find('/', 7), target.size()));
    if (target.empty()) target = "/";
  }
  const bool is_printable = std::all_of(target.begin(), target.end(), [](char c) { return c > 0x20 && c < 0x7F; });
  if (!target.starts_with('/') || !is_printable)
    return fault(400, "the path of the request must begin with / and have printable ASCII characters only");
  head.request.method = method;
  head.request.path = take_until(target, "?");
  if (!percent_decoded(head.request.path))
    return fault(400, "the path of the request has a malformed escape; %XX with two hexadecimal digits is needed");
  return read_query(target.substr(0, target.find('#')), head.request);
}

std::optional<HttpFault> read_field(std::string_view line, HttpRequest& request) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, std::min(colon, line.size()));
  if (colon == std::string_view::npos || !is_token(name))
    return fault(400, "a header field of the request must be NAME: VALUE on one line");
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_field_value(value)) return fault(400, "a header field of the request has a control character");
  const auto [place, is_new] = request.headers.try_emplace(lower(name), value);
  if (is_new) return std::nullopt;
  if (place->first == "host" || place->first == "content-length" || place->first == "authorization")
    return fault(400, "the request has the header field " + place->first + " twice");
  place->second.append(", ").append(value);
  return std::nullopt;
}

// Reads from the header fields how the body is framed and what the client expects.
std::optional<HttpFault> read_framing(HttpHead& head) {
  const HttpRequest& request = head.request;
  if (!head.is_version_1_0 && !request.header("host")) return fault(400, "the request has no header field Host");
  if (const auto coding = request.header("transfer-encoding")) {
    if (lower(*coding) != "chunked") return fault(501, "the only transfer encoding that this server knows is chunked");
    if (request.header("content-length") || head.is_version_1_0)
      return fault(400, "the request has a Transfer-Encoding beside a Content-Length, or is of HTTP/1.0");
    head.is_chunked = true;
  }
  if (const auto length = request.header("content-length")) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(length->data(), length->data() + length->size(), number);
    if (error != std::errc() || end != length->data() + length->size() || length->size() > kLengthDigitsMax)
      return fault(400, "the Content-Length of the request must be a number of bytes");
    head.content_length = number;
  }
  if (const auto wish = request.header("connection")) {
    if (has_word(*wish, "close")) head.keeps_alive = false;
    if (head.is_version_1_0 && has_word(*wish, "keep-alive")) head.keeps_alive = true;
  }
  if (const auto expected = request.header("expect")) {
    if (lower(*expected) != "100-continue") return fault(400, "the only expectation that is known is 100-continue");
    head.expects_continue = !head.is_version_1_0;
  }
  return std::nullopt;
}

}  // namespace

std::variant<HttpHead, HttpFault> parse_head(std::string_view text) {
  HttpHead head;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    if (at == 0 || text[at - 1] != '\r') return fault(400, "each line of the head must end in CR LF");
  }
  if (auto wrong = read_request_line(take_until(text, "\r\n"), head)) return *wrong;
  std::size_t fields = 0;
  while (!text.empty()) {
    if (++fields > kHttpFieldsMax) {
      return fault(431, "the request has more than " + std::to_string(kHttpFieldsMax) + " header fields");
    }
    if (auto wrong = read_field(take_until(text, "\r\n"), head.request)) return *wrong;
  }
  if (auto wrong = read_framing(head)) return *wrong;
  return head;
}

}  // namespace kq::net
