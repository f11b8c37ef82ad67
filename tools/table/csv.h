// Writes and reads CSV by RFC 4180. Written lines end in LF; read lines may end in LF or CRLF.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "tools/table/cell.h"

namespace kq::tools {

// Returns one field. No value is an empty field, an empty string is "" in quotes. Numbers have all digits that are
// needed to read back the same value; infinities and NaN are empty. Invalid UTF-8, NUL and hidden characters
// (core/base/safe_text.h) become U+FFFD. A text that a spreadsheet would take for a formula has an apostrophe in front,
// which parse_csv() removes; a text that is a number, such as "-1.5", has none.
std::string csv_field(const Cell& cell);
void append_csv_field(const Cell& cell, std::string& line);

// Returns the fields joined by commas, with an LF at the end.
std::string csv_line(std::span<const Cell> cells);

struct CsvLine {
  std::size_t number = 0;  // line number in the text at which the record starts, from 1
  std::vector<std::string> fields;
};

// Returns all records of a text. Bad input for a quote that is never closed, or that closes in the middle of a field.
Expected<std::vector<CsvLine>> parse_csv(std::string_view text);

}  // namespace kq::tools
