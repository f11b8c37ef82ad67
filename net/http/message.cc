#include "net/http/message.h"

#include <array>

namespace kq::net {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::array kPhrases = {
    std::pair{100, "Continue"},
    std::pair{200, "OK"},
    std::pair{201, "Created"},
    std::pair{202, "Accepted"},
    std::pair{204, "No Content"},
    std::pair{207, "Multi-Status"},
    std::pair{304, "Not Modified"},
    std::pair{400, "Bad Request"},
    std::pair{401, "Unauthorized"},
    std::pair{403, "Forbidden"},
    std::pair{404, "Not Found"},
    std::pair{405, "Method Not Allowed"},
    std::pair{406, "Not Acceptable"},
    std::pair{408, "Request Timeout"},
    std::pair{409, "Conflict"},
    std::pair{410, "Gone"},
    std::pair{411, "Length Required"},
    std::pair{413, "Content Too Large"},
    std::pair{414, "URI Too Long"},
    std::pair{415, "Unsupported Media Type"},
    std::pair{422, "Unprocessable Content"},
    std::pair{429, "Too Many Requests"},
    std::pair{431, "Request Header Fields Too Large"},
    std::pair{500, "Internal Server Error"},
    std::pair{501, "Not Implemented"},
    std::pair{503, "Service Unavailable"},
    std::pair{504, "Gateway Timeout"},
    std::pair{505, "HTTP Version Not Supported"},
};

}  // namespace

std::optional<std::string> HttpRequest::query_value(const std::string& name) const {
  auto values = query_values(name);
  return values.empty() ? std::nullopt : std::optional(std::move(values.back()));
}

std::vector<std::string> HttpRequest::query_values(const std::string& name) const {
  std::vector<std::string> values;
  const auto [first, end] = query.equal_range(name);
  for (auto one = first; one != end; ++one) values.push_back(one->second);
  return values;
}

std::optional<std::string> HttpRequest::header(const std::string& name_in_lower_case) const {
  const auto found = headers.find(name_in_lower_case);
  return found == headers.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0 || high + low == 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return decoded;
}

std::string_view reason_phrase(int status) {
  for (const auto& [known, phrase] : kPhrases) {
    if (known == status) return phrase;
  }
  return "Status";
}

}  // namespace kq::net
