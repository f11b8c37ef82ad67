#include "tools/cli/text.h"

#include <algorithm>
#include <cstdio>

namespace kq::tools {
namespace {

// Returns the number of code points, which is the printed width of most text.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& cell, std::size_t to, bool is_number) {
  const std::string space(to - std::min(to, width(cell)), ' ');
  return is_number ? space + cell : cell + space;
}

std::string joined(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                   const std::vector<TableColumn>& columns) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = padded(cells[i], widths[i], columns[i].is_number);
    const auto colour = columns[i].colour != nullptr ? columns[i].colour(cells[i]) : sys::Colour::none;
    line += (i == 0 ? "" : "  ") + sys::coloured(cell, colour);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

sys::Colour outcome_colour(const std::string& outcome) {
  const std::string name = outcome.substr(0, outcome.find(' '));
  if (name == to_string(VerdictName::passed)) return sys::Colour::green;
  const auto verdict = parse_enum<VerdictName>(name);
  if (!verdict) return sys::Colour::none;
  return row_of(*verdict).terminal ? sys::Colour::red : sys::Colour::yellow;
}

std::string table(const std::vector<TableColumn>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  return table_piece(columns, rows, widths);
}

std::string table_piece(const std::vector<TableColumn>& columns, const std::vector<std::vector<std::string>>& rows,
                        std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> lines;
  if (widths.empty()) {
    std::vector<std::string>& heading = lines.emplace_back();
    for (const TableColumn& column : columns) heading.push_back(column.name);
    widths.resize(columns.size());
  }
  for (const std::vector<std::string>& row : rows) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const std::string& cell : row) line.push_back(printable(cell));
  }
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));
  }
  std::string text;
  for (const auto& line : lines) text += joined(line, widths, columns);
  return text;
}

std::string age_text(std::int64_t ms) {
  const std::int64_t s = std::max<std::int64_t>(0, ms / 1000);
  const auto two = [](std::int64_t value, const char* unit, std::int64_t rest, const char* rest_unit) {
    return std::to_string(value) + " " + unit + (rest == 0 ? "" : " " + std::to_string(rest) + " " + rest_unit);
  };
  if (s < 60) return std::to_string(s) + " s";
  if (s < 3600) return std::to_string(s / 60) + " min";
  if (s < 86400) return two(s / 3600, "h", s / 60 % 60, "min");
  return two(s / 86400, "d", s / 3600 % 24, "h");
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.5 && unit < 3; ++unit) value /= 1024;
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, units[unit]);
  return buffer;
}

std::string ordinal_text(std::uint64_t n) {
  const bool teen = n % 100 >= 11 && n % 100 <= 13;
  const char* ending = n % 10 == 1 && !teen ? "st" : n % 10 == 2 && !teen ? "nd" : n % 10 == 3 && !teen ? "rd" : "th";
  return std::to_string(n) + ending;
}

}  // namespace kq::tools
