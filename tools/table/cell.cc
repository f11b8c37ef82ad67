#include "tools/table/cell.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace kq::tools {
namespace {

constexpr std::uint64_t kIntegerMax = 1ull << 53;  // a double holds all integers up to this one exactly

struct ToJson {
  producer::Json operator()(std::monostate) const { return {nullptr}; }
  producer::Json operator()(bool value) const { return {value}; }
  producer::Json operator()(std::uint64_t value) const {
    if (value > kIntegerMax) return {std::to_string(value)};
    return {static_cast<std::int64_t>(value)};
  }
  producer::Json operator()(double value) const {
    if (!std::isfinite(value)) return {nullptr};
    return {value};
  }
  producer::Json operator()(const std::string& value) const { return {value}; }
};

}  // namespace

producer::Json to_json(const Cell& cell) {
  return std::visit(ToJson{}, cell);
}

std::optional<double> number_in(std::string_view text) {
  // std::from_chars() takes no plus sign.
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || wrong != std::errc{} || end != text.data() + text.size() || std::isnan(value))
    return std::nullopt;
  return value;
}

Cell utc_time(std::int64_t unix_ms) {
  if (unix_ms <= 0) return {};
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds(unix_ms)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  if (int(date.year()) > 9999) return {};
  // Formatted by hand: a row has five times, and strftime would take a tenth of the time of a dump. The microseconds
  // end in 000, because records have milliseconds.
  std::string text = "0000-00-00T00:00:00.000000Z";
  const auto put = [&text](std::size_t at, std::size_t digits, std::uint64_t value) {
    for (; digits > 0; --digits, value /= 10) text[at + digits - 1] = static_cast<char>('0' + value % 10);
  };
  put(0, 4, static_cast<std::uint64_t>(int(date.year())));
  put(5, 2, unsigned(date.month()));
  put(8, 2, unsigned(date.day()));
  put(11, 2, static_cast<std::uint64_t>(clock.hours().count()));
  put(14, 2, static_cast<std::uint64_t>(clock.minutes().count()));
  put(17, 2, static_cast<std::uint64_t>(clock.seconds().count()));
  put(20, 3, static_cast<std::uint64_t>(clock.subseconds().count()));
  return text;
}

// Text and numbers are appended without a temporary string, because most of the time of a dump is spent here.
void append_json(const Cell& cell, std::string& line) {
  const auto* text = std::get_if<std::string>(&cell);
  const auto* number = std::get_if<double>(&cell);
  if (text != nullptr) return producer::append_json(std::string_view(*text), line);
  if (number != nullptr && std::isfinite(*number)) return producer::append_json(*number, line);
  if (cell.index() == 0) {
    line += "null";
  } else {
    line += producer::to_text(to_json(cell));
  }
}

}  // namespace kq::tools
