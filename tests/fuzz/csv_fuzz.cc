// Fuzzes the reader of CSV with arbitrary bytes, and the writer with arbitrary values, whose line must read back.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/base/check.h"
#include "core/base/safe_text.h"
#include "tests/fuzz/fuzz.h"
#include "tools/cli/text.h"
#include "tools/table/csv.h"

using namespace kq;

namespace {

constexpr std::size_t kCellsMax = 64;

tools::Cell take_cell(std::string_view& rest) {
  switch (fuzz::take_byte(rest) % 5) {
    case 0:
      return {};
    case 1:
      return fuzz::take_byte(rest) % 2 == 0;
    case 2:
    case 3: {
      const std::string_view bytes = fuzz::take(rest, 8);
      std::uint64_t bits = 0;
      std::memcpy(&bits, bytes.data(), bytes.size());
      if (bits % 2 == 0) return bits;
      return std::bit_cast<double>(bits);
    }
    default:
      return std::string(fuzz::take(rest, fuzz::take_byte(rest)));
  }
}

// Returns the text that a reader must find in the field of the cell.
std::string expected_of(const tools::Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return tools::csv_field(cell);
  std::string valid;
  for (const char c : visible(tools::valid_utf8(*text))) valid += c == '\0' ? "\xEF\xBF\xBD" : std::string(1, c);
  return valid;
}

bool reads_back(const std::string& field, double value) {
  double read = 0;
  const auto [end, wrong] = std::from_chars(field.data(), field.data() + field.size(), read);
  if (!std::isfinite(value)) return field.empty();
  return wrong == std::errc{} && end == field.data() + field.size() &&
         std::bit_cast<std::uint64_t>(read) == std::bit_cast<std::uint64_t>(value);
}

void check_writer(std::string_view rest) {
  std::vector<tools::Cell> cells;
  while (!rest.empty() && cells.size() < kCellsMax) cells.push_back(take_cell(rest));
  if (cells.empty()) return;
  const auto lines = tools::parse_csv(tools::csv_line(cells));
  KQ_CHECK(lines && lines->size() == 1 && lines->front().number == 1);
  const std::vector<std::string>& fields = lines->front().fields;
  KQ_CHECK(fields.size() == cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    KQ_CHECK(fields[i] == expected_of(cells[i]));
    if (const auto* value = std::get_if<double>(&cells[i])) KQ_CHECK(reads_back(fields[i], *value));
  }
}

void check_reader(std::string_view text) {
  const auto lines = tools::parse_csv(text);
  if (!lines) {
    KQ_CHECK(lines.error().kind == ErrorKind::bad_input && lines.error().message.starts_with("line "));
    return;
  }
  std::size_t number = 0;
  for (const tools::CsvLine& line : *lines) {
    KQ_CHECK(!line.fields.empty() && line.number > number);
    number = line.number;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_reader(fuzz::text_of(data, size));
  check_writer(fuzz::text_of(data, size));
  return 0;
}
