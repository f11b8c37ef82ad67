// How values look to people: times with a unit, tables, and text that cannot play tricks on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"

namespace kq::tools {

// Bytes that are not UTF-8 become U+FFFD.
std::string valid_utf8(std::string_view text);

// Control characters, and bytes that are not UTF-8, made visible. Everything a submission or another person wrote goes
// through here.
std::string printable(std::string_view text);

std::string time_text(double ns);          // "12.5 us", "3.04 ms": three digits, the unit that keeps them readable
std::string speedup_text(double speedup);  // "1.73x", "-" for 0

// "wrong_answer (shape)", "passed", "queued".
std::string outcome_text(const RunRow& row);

// "relu/fast: rejected (stream): add.cu:12: no streams" and, indented below, the hint.
std::string evidence_text(const RunRow& row);

struct TableColumn {
  std::string name;
  bool is_number = false;  // set flush right
};
// Columns as wide as their widest cell, two spaces apart, a heading, LF at every end. Cells are made printable.
std::string table(const std::vector<TableColumn>& columns, const std::vector<std::vector<std::string>>& rows);

// The same piece by piece: `widths` starts empty and grows with each piece; only the first piece has the heading.
std::string table_piece(const std::vector<TableColumn>& columns, const std::vector<std::vector<std::string>>& rows,
                        std::vector<std::size_t>& widths);

std::string age_text(std::int64_t ms);  // in words of one or two units: "0 s", "42 s", "3 min", "2 h 10 min", "4 d 3 h"
std::string bytes_text(std::uint64_t bytes);  // "512 B", "1.50 KiB", "23.4 GiB"
std::string ordinal_text(std::uint64_t n);    // "1st", "12th"

}  // namespace kq::tools
