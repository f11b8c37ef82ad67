// CSV by RFC 4180, with lines that end in LF when written and in LF or CRLF when read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "tools/table/cell.h"

namespace kq::tools {

// One field. No value is empty, an empty string is "" in quotes; numbers read back bit for bit, infinities and NaN are
// empty; bytes that are no text (invalid UTF-8, NUL) become U+FFFD. Cells that a spreadsheet would take for a formula
// stay as they are: the data is exact.
std::string csv_field(const Cell& cell);
void append_csv_field(const Cell& cell, std::string& line);

// Fields joined, with the LF.
std::string csv_line(std::span<const Cell> cells);

struct CsvLine {
  std::size_t number = 0;  // of its first line in the text, from 1
  std::vector<std::string> fields;
};

// All records of a text; bad input for a quote that is never closed, or that closes in the middle of a field.
Expected<std::vector<CsvLine>> parse_csv(std::string_view text);

}  // namespace kq::tools
