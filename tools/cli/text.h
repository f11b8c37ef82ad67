// Formats values for people: times with units, tables, and text that is safe to print on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"
#include "sys/colour.h"

namespace kq::tools {

// Returns the text with bytes that are not UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

// Returns the text with control characters, hidden characters (core/base/safe_text.h), and bytes that are not UTF-8,
// made visible. All text that a submission or
// another user wrote must pass through this function before it is printed.
std::string printable(std::string_view text);

std::string time_text(double ns);  // three digits with the fitting unit: "12.5 us", "3.04 ms"; "-" for 0
std::string speedup_text(double speedup);
// Returns " ±3%": the noise of a figure as a share of it, to follow the figure. Returns an empty text where the noise
// is unknown.
std::string noise_text(double figure, double noise);  // "1.73x"; "-" for 0

// Returns the verdict with its reason, or the state of an unfinished job: "wrong_answer (shape)", "passed", "queued".
std::string outcome_text(const RunRow& row);

// Returns the evidence of a verdict, such as "relu/fast: rejected (stream): add.cu:12: no streams", with the hint on an
// indented line of its own.
std::string evidence_text(const RunRow& row);

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
