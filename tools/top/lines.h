// Lines of coloured text, and tables made of them that fit a width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sys/colour.h"

namespace kq::tools {

// A part of a line in one colour.
struct Piece {
  std::string text = {};
  sys::Colour colour = sys::Colour::none;
};
using Line = std::vector<Piece>;

// Returns the number of columns that the text takes on a terminal. The locale of the program must be one of UTF-8;
// otherwise a character that is not ASCII counts as one column.
std::size_t shown_width(std::string_view text);

// Returns the text, cut to `width` columns with "…" at its end where it is longer.
std::string cut_to(const std::string& text, std::size_t width);

// Returns the line cut to `width` columns; 0 cuts nothing.
Line cut_line(Line line, std::size_t width);

// Returns the line as text with a line end. `with_colours` adds the escape sequences of colours.
std::string text_of(const Line& line, bool with_colours);

struct LineColumn {
  std::string name;
  bool is_number = false;  // aligned right
  bool may_shrink = false;
};

inline constexpr std::size_t kShrunkWidthMin = 12;  // columns of a cell that may shrink

// Returns a table with a heading in bold, without a line for no rows. Columns are two spaces apart and as wide as their
// widest cell. Where the table is wider than `width`, the widest columns that may shrink become narrower; 0 is no
// limit. All cells are made printable (tools/cli/text.h).
std::vector<Line> table_lines(const std::vector<LineColumn>& columns, std::vector<std::vector<Piece>> rows,
                              std::size_t width);

}  // namespace kq::tools
