// Text of a child, for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kq::sys {

// Untrusted text as UTF-8 without control characters (but newline and tab), at most bytes_max bytes.
std::string printable(std::string_view text, std::size_t bytes_max);

}  // namespace kq::sys
