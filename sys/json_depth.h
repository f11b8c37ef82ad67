// Tells how deep JSON text is nested before a library parses it. nlohmann's own limit, a callback, takes time that is
// quadratic in the number of elements of one list, and what the library does to a parsed value is recursive.
#pragma once

#include <string_view>

namespace kq::sys {

// Returns whether the arrays and objects of valid JSON lie at most `depth_max` inside one another. The answer for text
// that is no JSON means nothing.
bool is_nested_at_most(std::string_view json, int depth_max);

}  // namespace kq::sys
