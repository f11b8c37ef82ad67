// One value of an output, before any format is chosen: what is unknown is no value, never a number that stands for one.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "producer/client/json.h"

namespace kq::tools {

using Cell = std::variant<std::monostate, bool, std::uint64_t, double, std::string>;

// No value, infinities and NaN become null; an integer above 2^53 becomes a string, as readers would round it.
producer::Json to_json(const Cell& cell);

// The text of that, at the end of a line.
void append_json(const Cell& cell, std::string& line);

}  // namespace kq::tools
