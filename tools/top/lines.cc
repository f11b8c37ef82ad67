#include "tools/top/lines.h"

#include <cwchar>

#include <algorithm>
#include <numeric>

#include "core/base/check.h"
#include "tools/cli/text.h"

namespace kq::tools {
namespace {

constexpr std::size_t kGap = 2;  // columns between two cells

// Removes the first character from valid UTF-8 and returns it.
std::string_view take_character(std::string_view& text) {
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) ++length;
  const std::string_view character = text.substr(0, length);
  text.remove_prefix(length);
  return character;
}

char32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (first < 0x80) return first;
  char32_t code = first & (0xFFu >> (character.size() + 1));
  for (const char c : character.substr(1)) code = (code << 6) | (static_cast<unsigned char>(c) & 0x3Fu);
  return code;
}

std::size_t character_width(std::string_view character) {
  if (character.size() == 1) return 1;
  const int width = ::wcwidth(static_cast<wchar_t>(code_point(character)));
  return width < 0 ? 1 : static_cast<std::size_t>(width);
}

void shrink(const std::vector<LineColumn>& columns, std::vector<std::size_t>& widths, std::size_t width) {
  const std::size_t gaps = kGap * (columns.size() - 1);
  std::size_t total = std::accumulate(widths.begin(), widths.end(), gaps);
  while (width != 0 && total > width) {
    std::size_t widest = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool can_shrink = columns[i].may_shrink && widths[i] > kShrunkWidthMin;
      if (can_shrink && (widest == columns.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == columns.size()) return;
    --widths[widest];
    --total;
  }
}

}  // namespace

std::size_t shown_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) width += character_width(take_character(text));
  return width;
}

std::string cut_to(const std::string& text, std::size_t width) {
  if (shown_width(text) <= width) return text;
  if (width == 0) return "";
  std::string cut;
  std::size_t used = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view character = take_character(rest);
    used += character_width(character);
    if (used > width - 1) break;
    cut += character;
  }
  return cut + "…";
}

Line cut_line(Line line, std::size_t width) {
  if (width == 0) return line;
  std::size_t left = width;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t wanted = shown_width(line[i].text);
    if (wanted > left) {
      line[i].text = cut_to(line[i].text, left);
      line.resize(i + 1);
      break;
    }
    left -= wanted;
  }
  return line;
}

std::string text_of(const Line& line, bool with_colours) {
  std::string text;
  for (const Piece& piece : line) text += with_colours ? sys::coloured(piece.text, piece.colour) : piece.text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

std::vector<Line> table_lines(const std::vector<LineColumn>& columns, std::vector<std::vector<Piece>> rows,
                              std::size_t width) {
  if (rows.empty()) return {};
  std::vector<std::size_t> widths;
  for (const LineColumn& column : columns) widths.push_back(shown_width(column.name));
  for (auto& row : rows) {
    KQ_CHECK(row.size() == columns.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i].text = printable(row[i].text);
      widths[i] = std::max(widths[i], shown_width(row[i].text));
    }
  }
  shrink(columns, widths, width);
  std::vector<Line> lines;
  const auto add = [&](const std::vector<Piece>& row) {
    Line line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string text = cut_to(row[i].text, widths[i]);
      const std::string space(widths[i] - std::min(widths[i], shown_width(text)), ' ');
      const std::string gap(i == 0 ? 0 : kGap, ' ');
      line.push_back({gap + (columns[i].is_number ? space : ""), sys::Colour::none});
      line.push_back({text, row[i].colour});
      if (!columns[i].is_number && i + 1 < row.size()) line.push_back({space, sys::Colour::none});
    }
    lines.push_back(cut_line(std::move(line), width));
  };
  std::vector<Piece> heading;
  for (const LineColumn& column : columns) heading.push_back({column.name, sys::Colour::bold});
  add(heading);
  for (const auto& row : rows) add(row);
  return lines;
}

}  // namespace kq::tools
