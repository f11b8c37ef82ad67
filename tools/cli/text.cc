#include "tools/cli/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/check.h"
#include "core/base/safe_text.h"
#include "producer/client/json.h"

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

// Makes each line printable and indents all lines but the first.
std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += (out.empty() ? "" : "\n    ") + printable(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace

// The JSON library replaces bytes that are not UTF-8.
std::string valid_utf8(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return std::string(text);
  const Expected<producer::Json> copy = producer::parse_json(producer::json_quoted(text));
  KQ_CHECK(copy && copy->text() != nullptr);
  return *copy->text();
}

std::string printable(std::string_view text) {
  const std::string valid = visible(valid_utf8(text));
  std::string out;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const auto c = static_cast<unsigned char>(valid[i]);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += ' ';
    } else if (c < 0x20 || c == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", c);
      out += escape;
    } else {
      out += valid[i];
    }
  }
  return out;
}

std::string time_text(double ns) {
  const auto three_digits = [](double value, const char* unit) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
    return std::string(buffer);
  };
  if (!(ns > 0)) return "-";
  if (ns < 999.5e3) return three_digits(ns / 1e3, "us");
  if (ns < 999.5e6) return three_digits(ns / 1e6, "ms");
  return three_digits(ns / 1e9, "s");
}

std::string speedup_text(double speedup) {
  if (!(speedup > 0)) return "-";
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, speedup < 100 ? "%.2fx" : "%.0fx", speedup);
  return buffer;
}

std::string noise_text(double figure, double noise) {
  if (!(figure > 0) || !(noise > 0) || !std::isfinite(noise)) return "";
  char buffer[40];
  const double percent = 100 * noise / figure;
  std::snprintf(buffer, sizeof buffer, percent < 1 ? " ±%.1f%%" : " ±%.0f%%", percent);
  return buffer;
}

std::string outcome_text(const RunRow& row) {
  if (!row.result) return std::string(to_string(row.job.state));
  const Evidence* evidence = evidence_of(row.result->verdict);
  const std::string name(to_string(name_of(row.result->verdict)));
  return evidence == nullptr || evidence->reason.empty() ? name : name + " (" + evidence->reason + ")";
}

sys::Colour outcome_colour(const std::string& outcome) {
  const std::string name = outcome.substr(0, outcome.find(' '));
  if (name == to_string(VerdictName::passed)) return sys::Colour::green;
  const auto verdict = parse_enum<VerdictName>(name);
  if (!verdict) return sys::Colour::none;
  return row_of(*verdict).terminal ? sys::Colour::red : sys::Colour::yellow;
}

std::string evidence_text(const RunRow& row) {
  std::string text = printable(row.entry.submission.label) + ": " + printable(outcome_text(row));
  const Evidence* evidence = row.result ? evidence_of(row.result->verdict) : nullptr;
  if (evidence == nullptr) return text + '\n';
  // Many compilers and interpreters begin their messages with the place.
  if (!evidence->place.empty() && !evidence->message.starts_with(evidence->place + ":"))
    text += ": " + printable(evidence->place);
  if (!evidence->rule.empty()) text += ": rule " + printable(evidence->rule);
  if (!evidence->message.empty()) text += ": " + indented(evidence->message);
  text += '\n';
  if (!evidence->hint.empty()) text += "    " + indented(evidence->hint) + '\n';
  return text;
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
