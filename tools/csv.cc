#include "tools/csv.h"

#include <charconv>
#include <cmath>

#include "tools/text.h"

namespace kq {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string quoted(std::string_view value) {
  std::string text = "\"";
  for (char c : valid_utf8(value)) {
    if (c == '"')
      text += "\"\"";
    else if (c == '\0')
      text += "\xEF\xBF\xBD";
    else
      text += c;
  }
  return text + '"';
}

std::string field_of(std::string_view value) {
  // A value that begins as a file of a spreadsheet does would lose its first character in the first field of all.
  const bool is_plain = !value.empty() && !value.starts_with(kByteOrderMark) &&
                        value.find_first_of(std::string_view("\",\r\n\0", 5)) == std::string_view::npos;
  return is_plain ? valid_utf8(value) : quoted(value);
}

std::string shortest(double value) {
  if (!std::isfinite(value)) return "";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end.ptr);
}

// Reads one record from the front of `rest`.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }

  Expected<CsvLine> line() {
    CsvLine line{.number = number_, .fields = {}};
    while (true) {
      Expected<std::string> field = next() == '"' ? quoted_field() : plain_field();
      if (!field) return failure(field.error());
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
  // NUL stands for the end; in a text it would be an ordinary byte of a field.
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

std::string csv_field(const Cell& cell) {
  switch (cell.index()) {
    case 0:
      return "";
    case 1:
      return std::get<bool>(cell) ? "true" : "false";
    case 2:
      return std::to_string(std::get<std::uint64_t>(cell));
    case 3:
      return shortest(std::get<double>(cell));
    default:
      return field_of(std::get<std::string>(cell));
  }
}

std::string csv_line(std::span<const Cell> cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + csv_field(cells[i]);
  return line + '\n';
}

Expected<std::vector<CsvLine>> parse_csv(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());  // what spreadsheets put in front
  std::vector<CsvLine> lines;
  for (Reader reader(text); !reader.at_end();) {
    Expected<CsvLine> line = reader.line();
    if (!line) return failure(line.error());
    lines.push_back(std::move(*line));
  }
  return lines;
}

}  // namespace kq
