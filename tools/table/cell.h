// One value of an output, before a format is chosen. An unknown value is std::monostate, never a number with a special
// meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "producer/client/json.h"

namespace kq::tools {

using Cell = std::variant<std::monostate, bool, std::uint64_t, double, std::string>;

// Unknown values, infinities and NaN become null. An integer above 2^53 becomes a string, because many readers would
// round it.
producer::Json to_json(const Cell& cell);

// Returns the number that the whole text is, such as "-1.5", "+2" or "1e-3"; no value for other texts and for NaN.
std::optional<double> number_in(std::string_view text);

// Returns a time by RFC 3339 in UTC with microseconds; no value for 0, which means "not yet".
Cell utc_time(std::int64_t unix_ms);

// Appends the JSON text of the cell to a line.
void append_json(const Cell& cell, std::string& line);

}  // namespace kq::tools
