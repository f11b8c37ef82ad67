#include "producer/client/when.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

namespace kq::producer {
namespace {

constexpr std::int64_t kDayMs = 24 * 3'600'000;

// Reads parts of a text from its front. right() is false after any part that does not match.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  // Reads a number of exactly so many digits.
  int number(std::size_t digits) {
    int value = 0;
    const std::string_view word = rest_.substr(0, digits);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.size() < digits || error != std::errc() || end != word.data() + digits || word.front() == '-')
      wrong_ = true;
    rest_.remove_prefix(word.size());
    return value;
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) { wrong_ = !take(c) || wrong_; }
  bool right() const { return !wrong_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool wrong_ = false;
};

std::optional<std::int64_t> parse_date(std::string_view text) {
  Reader reader(text);
  const int year = reader.number(4);
  reader.expect('-');
  const int month = reader.number(2);
  reader.expect('-');
  const int day = reader.number(2);
  if (!reader.take(' ')) reader.expect('T');
  const int hour = reader.number(2);
  reader.expect(':');
  const int minute = reader.number(2);
  const int second = reader.take(':') ? reader.number(2) : 0;
  int zone_minutes = 0;
  if (!reader.take('Z')) {
    const int sign = reader.take('-') ? -1 : 1;
    if (sign == 1) reader.expect('+');
    const int hours = reader.number(2);
    reader.take(':');
    zone_minutes = sign * (hours * 60 + reader.number(2));
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!reader.right() || !date.ok() || year < 1970 || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute - zone_minutes) * 60 + second) * 1000;
}

// Returns the milliseconds of "90s", "30m", "2h" or "1d".
std::optional<std::int64_t> parse_span(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::int64_t unit_ms = 0;
  if (text.back() == 's') unit_ms = 1'000;
  if (text.back() == 'm') unit_ms = 60'000;
  if (text.back() == 'h') unit_ms = 3'600'000;
  if (text.back() == 'd') unit_ms = kDayMs;
  text.remove_suffix(1);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (unit_ms == 0 || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number * unit_ms;
}

}  // namespace

Expected<std::int64_t> parse_when(std::string_view text, std::int64_t now_ms) {
  const bool is_span = text.starts_with('+');
  const auto span = is_span ? parse_span(text.substr(1)) : std::nullopt;
  const auto when = is_span ? (span ? std::optional(now_ms + *span) : std::nullopt) : parse_date(text);
  if (!when)
    return bad_input("must be a time such as 2026-11-21T18:00Z or +30m (s, m, h, d), got '" + std::string(text) + "'");
  if (*when <= 0 || *when > now_ms + kWhenAheadDaysMax * kDayMs) {
    return bad_input("must be after 1970 and at most " + std::to_string(kWhenAheadDaysMax) + " days ahead, got '" +
                     std::string(text) + "'");
  }
  return *when;
}

Expected<std::uint32_t> limit_ms_of(double seconds) {
  if (!(seconds >= 0.001 && seconds <= kLimitSecondsMax)) {
    return bad_input("must be a number of seconds from 0.001 to " + std::to_string(static_cast<int>(kLimitSecondsMax)));
  }
  return static_cast<std::uint32_t>(std::lround(seconds * 1'000));
}

Expected<std::uint32_t> parse_limit(std::string_view seconds) {
  double number = 0;
  const auto [end, wrong] = std::from_chars(seconds.data(), seconds.data() + seconds.size(), number);
  const bool is_number = wrong == std::errc() && end == seconds.data() + seconds.size();
  const auto limit = limit_ms_of(is_number ? number : 0);
  if (!limit) return bad_input(limit.error().message + ", got '" + std::string(seconds) + "'");
  return limit;
}

std::string when_text(std::int64_t unix_ms) {
  const std::chrono::sys_seconds seconds(std::chrono::seconds(unix_ms / 1000));
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(seconds - day);
  char text[48];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

}  // namespace kq::producer
