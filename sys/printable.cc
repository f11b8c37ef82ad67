#include "sys/printable.h"

#include <algorithm>

namespace kq::sys {
namespace {

// Returns the length in bytes of the printable UTF-8 character at the start of `text`, or 0 if there is none.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return (first >= 0x20 && first != 0x7F) || first == '\n' || first == '\t' ? 1 : 0;
  const std::size_t n = first >= 0xC2 && first < 0xE0   ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (n == 0 || text.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool is_control = first == 0xC2 && second < 0xA0;
  const bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_no_character = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
  return is_control || is_overlong || is_no_character ? 0 : n;
}

}  // namespace

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string clean;
  while (!text.empty() && clean.size() < bytes_max) {
    const std::size_t n = character_bytes(text);
    if (n == 0 || clean.size() + n > bytes_max) {
      clean += '?';
    } else {
      clean += text.substr(0, n);
    }
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return clean;
}

}  // namespace kq::sys
