// Parsing and printing of points in time and time limits as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace kq::producer {

// Returns the Unix time in ms of "2026-11-21T18:00Z" or "2026-11-21T18:00:30+01:00", or, relative to `now_ms`, of
// "+90s",
// "+30m", "+2h" or "+1d". The time must be after 1970 and at most kWhenAheadDaysMax days ahead. The error text
// continues a sentence whose subject is the name of the option: "must be ...".
Expected<std::int64_t> parse_when(std::string_view text, std::int64_t now_ms);

inline constexpr std::int64_t kWhenAheadDaysMax = 3'660;

// Returns a limit in ms for a number of seconds, which may have a fraction. The error text continues a sentence as that
// of parse_when().
Expected<std::uint32_t> limit_ms_of(double seconds);
Expected<std::uint32_t> parse_limit(std::string_view seconds);

inline constexpr double kLimitSecondsMax = 86'400;

// "2026-11-21T18:00:30Z".
std::string when_text(std::int64_t unix_ms);

}  // namespace kq::producer
