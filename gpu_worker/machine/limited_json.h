// Parses JSON of untrusted files in time that is linear in their length, up to a depth of nesting.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace kq::worker {

// Returns the value, or a discarded value if the text is no JSON or if more than `depth_max` arrays and objects lie
// inside one another. The library has no linear limit of its own: its callback takes time quadratic in the number of
// elements of a list, and copying or writing a deep value is recursive.
nlohmann::json parse_limited(std::string_view text, int depth_max);

}  // namespace kq::worker
