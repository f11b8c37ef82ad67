#include "tools/report/packing.h"

#include <zlib.h>

#include <cstdio>

#include "core/base/check.h"
#include "core/bytes/base64.h"
#include "tools/cli/text.h"

namespace kq::tools {
namespace {

// A page of 10,000 jobs has 50 MB to compress: level 9 takes three times as long for 2 % less.
constexpr int kLevel = 6;

}  // namespace

std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string name_html(std::string_view name) {
  std::string html;
  for (const char c : html_text(name)) {
    html += c;
    if (c == '/' || c == '_') html += "<wbr>";
  }
  return html;
}

std::string address_of(std::string_view name) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string address;
  for (const char c : name) {
    if (plain.find(c) != std::string_view::npos) {
      address += c;
      continue;
    }
    char escape[4];
    std::snprintf(escape, sizeof escape, "%%%02X", static_cast<unsigned char>(c));
    address += escape;
  }
  return address;
}

std::string packed(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string bytes(size, '\0');
  const int result = compress2(reinterpret_cast<Bytef*>(bytes.data()), &size,
                               reinterpret_cast<const Bytef*>(text.data()), text.size(), kLevel);
  KQ_CHECK(result == Z_OK);  // the buffer is large enough
  bytes.resize(size);
  return base64(bytes);
}

}  // namespace kq::tools
