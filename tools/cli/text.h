// Formats values for people: tables, ages and sizes, beside the texts of producer/client/row_text.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"
#include "producer/client/row_text.h"
#include "sys/colour.h"

namespace kq::tools {

using producer::evidence_text;
using producer::noise_text;
using producer::outcome_text;
using producer::printable;
using producer::speedup_text;
using producer::time_text;
using producer::time_texts;
using producer::TimeTexts;
using producer::valid_utf8;

struct TableColumn {
  std::string name;
  bool is_number = false;                                    // aligned right
  sys::Colour (*colour)(const std::string& cell) = nullptr;  // of a cell, for a terminal; null for none
};

// Returns the colour of a verdict, an outcome or a state: green if it passed, red if it did not, yellow if the same job
// may still pass, as one that was cancelled.
sys::Colour outcome_colour(const std::string& outcome);
// Returns a table with a heading. A column is as wide as its widest cell, and columns are two spaces apart. Cells are
// made printable.
std::string table(const std::vector<TableColumn>& columns, const std::vector<std::vector<std::string>>& rows);

// Returns a table in several pieces. `widths` must be empty for the first piece, which alone has the heading; it holds
// the widths of the columns and only grows.
std::string table_piece(const std::vector<TableColumn>& columns, const std::vector<std::vector<std::string>>& rows,
                        std::vector<std::size_t>& widths);

std::string age_text(std::int64_t ms);        // one or two units: "0 s", "42 s", "3 min", "2 h 10 min", "4 d 3 h"
std::string bytes_text(std::uint64_t bytes);  // "512 B", "1.50 KiB", "23.4 GiB"
std::string ordinal_text(std::uint64_t n);    // "1st", "12th"

}  // namespace kq::tools
