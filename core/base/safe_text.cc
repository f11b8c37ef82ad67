#include "core/base/safe_text.h"

#include <array>

namespace kq {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Unicode calls most of them Bidi_Control or Default_Ignorable_Code_Point. Variation selectors are not here, because
// they belong to visible emoji.
constexpr std::array kHidden{Range{0x0080, 0x009F},     // C1 controls
                             Range{0x00AD, 0x00AD},     // soft hyphen
                             Range{0x034F, 0x034F},     // combining grapheme joiner
                             Range{0x061C, 0x061C},     // Arabic letter mark
                             Range{0x115F, 0x1160},     // Hangul fillers
                             Range{0x17B4, 0x17B5},     // Khmer inherent vowels
                             Range{0x180B, 0x180F},     // Mongolian separators
                             Range{0x200B, 0x200F},     // zero-width space and joiners, direction marks
                             Range{0x2028, 0x202E},     // line and paragraph ends, direction embeddings
                             Range{0x2060, 0x206F},     // word joiner, direction isolates
                             Range{0x3164, 0x3164},     // Hangul filler
                             Range{0xFEFF, 0xFEFF},     // byte order mark
                             Range{0xE0000, 0xE0FFF}};  // tags

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::size_t hidden_character_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length == 1 || length > text.size()) return 0;
  char32_t code = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  for (const Range& range : kHidden) {
    if (code >= range.first && code <= range.last) return length;
  }
  return 0;
}

std::string visible(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t hidden = hidden_character_bytes(text.substr(i));
    if (hidden != 0) {
      shown += kReplacement;
    } else {
      shown += text[i];
    }
    i += hidden != 0 ? hidden : 1;
  }
  return shown;
}

bool is_formula(std::string_view text) {
  const std::size_t first = text.find_first_not_of('\'');
  return first != std::string_view::npos && std::string_view("=+-@\t\r").find(text[first]) != std::string_view::npos;
}

}  // namespace kq
