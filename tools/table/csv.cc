#include "tools/table/csv.h"

#include <charconv>
#include <cmath>

#include "core/base/safe_text.h"
#include "tools/cli/text.h"

namespace kq::tools {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string quoted(std::string_view value) {
  std::string text = "\"";
  for (char c : visible(valid_utf8(value))) {
    if (c == '"')
      text += "\"\"";
    else if (c == '\0')
      text += "\xEF\xBF\xBD";
    else
      text += c;
  }
  return text + '"';
}

bool is_finite_number(std::string_view text) {
  const auto number = number_in(text);
  return number && std::isfinite(*number);
}

// Appends a text, in quotes where necessary and with an apostrophe before a formula, which "-1.5" is not. A value that
// starts with a byte order mark is quoted, because a reader would drop the mark at the start of a file.
void append_text(std::string_view given, std::string& line) {
  std::string guarded;
  if (is_formula(given) && !is_finite_number(given)) guarded = "'" + std::string(given);
  const std::string_view value = guarded.empty() ? given : guarded;
  bool is_ascii = !value.empty();
  bool is_plain = is_ascii;
  for (const char c : value) {  // one pass, because most of the time of a dump is spent here
    is_ascii &= static_cast<unsigned char>(c) < 0x80;
    is_plain &= c != '"' && c != ',' && c != '\r' && c != '\n' && c != '\0';
  }
  if (is_ascii && is_plain) {
    line += value;
  } else {
    line += is_plain && !value.starts_with(kByteOrderMark) ? visible(valid_utf8(value)) : quoted(value);
  }
}

void append_number(auto value, std::string& line) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  line.append(buffer, end.ptr);
}

// Reads the records of a text one after the other.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }

  Expected<CsvLine> line() {
    CsvLine line{.number = number_, .fields = {}};
    while (true) {
      Expected<std::string> field = next() == '"' ? quoted_field() : plain_field();
      if (!field) return failure(field.error());
      if (field->starts_with('\'') && is_formula(*field)) field->erase(0, 1);
      line.fields.push_back(std::move(*field));
      if (next() == ',') {
        ++at_;
        continue;
      }
      if (next() == '\r') ++at_;
      if (next() == '\n') ++at_;
      ++number_;
      return line;
    }
  }

 private:
  // Returns NUL at the end of the text. A NUL within the text is an ordinary byte of a field.
  char next() const { return at_end() ? '\0' : text_[at_]; }
  bool ends_field() const { return at_end() || next() == ',' || next() == '\n' || text_.substr(at_, 2) == "\r\n"; }

  Expected<std::string> plain_field() {
    const std::size_t first = at_;
    while (!ends_field()) ++at_;
    return std::string(text_.substr(first, at_ - first));
  }

  Expected<std::string> quoted_field() {
    const std::size_t opened = number_;
    std::string field;
    for (++at_; !at_end(); ++at_) {
      if (next() == '\n') ++number_;
      if (next() != '"') {
        field += next();
      } else if (text_.substr(at_, 2) == "\"\"") {
        field += '"';
        ++at_;
      } else {
        ++at_;
        if (ends_field()) return field;
        return bad_input("line " + std::to_string(number_) + ": a quote inside a field must be doubled");
      }
    }
    return bad_input("line " + std::to_string(opened) + ": a quote is opened and never closed");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t number_ = 1;
};

}  // namespace

void append_csv_field(const Cell& cell, std::string& line) {
  switch (cell.index()) {
    case 0:
      return;
    case 1:
      line += std::get<bool>(cell) ? "true" : "false";
      return;
    case 2:
      append_number(std::get<std::uint64_t>(cell), line);
      return;
    case 3:
      if (std::isfinite(std::get<double>(cell))) append_number(std::get<double>(cell), line);
      return;
    default:
      append_text(std::get<std::string>(cell), line);
  }
}

std::string csv_field(const Cell& cell) {
  std::string field;
  append_csv_field(cell, field);
  return field;
}

std::string csv_line(std::span<const Cell> cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + csv_field(cells[i]);
  return line + '\n';
}

Expected<std::vector<CsvLine>> parse_csv(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());  // spreadsheets write it
  std::vector<CsvLine> lines;
  for (Reader reader(text); !reader.at_end();) {
    Expected<CsvLine> line = reader.line();
    if (!line) return failure(line.error());
    lines.push_back(std::move(*line));
  }
  return lines;
}

}  // namespace kq::tools
