#include "sys/text_line.h"

#include <algorithm>

namespace kq::sys {

std::string_view value_of(std::string_view text, std::string_view key, char separator) {
  constexpr std::string_view kBlanks = " \t\r";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t at = line.find(separator);
    if (!line.starts_with(key) || at == std::string_view::npos) continue;
    const std::size_t start = line.find_first_not_of(kBlanks, at + 1);
    return start == std::string_view::npos ? std::string_view()
                                           : line.substr(start, line.find_last_not_of(kBlanks) + 1 - start);
  }
  return {};
}

}  // namespace kq::sys
