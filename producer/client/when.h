// Points in time as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace kq::producer {

// Unix time in ms of "2026-11-21T18:00Z", "2026-11-21T18:00:30+01:00" or, counted from `now_ms`, "+90s", "+30m", "+2h",
// "+1d". Between the years 1970 and 9999, and at most kWhenAheadDaysMax ahead. The error says what would be right,
// without the flag's name.
Expected<std::int64_t> parse_when(std::string_view text, std::int64_t now_ms);

inline constexpr std::int64_t kWhenAheadDaysMax = 3'660;

// A limit in ms from seconds, which may have a fraction. The error says what would be right, without the name of what
// is limited.
Expected<std::uint32_t> limit_ms_of(double seconds);
Expected<std::uint32_t> parse_limit(std::string_view seconds);

inline constexpr double kLimitSecondsMax = 86'400;

// "2026-11-21T18:00:30Z".
std::string when_text(std::int64_t unix_ms);

}  // namespace kq::producer
