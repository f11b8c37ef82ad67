// Makes text of a child safe to show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kq::sys {

// Returns untrusted text as valid UTF-8 of at most `bytes_max` bytes. A control character other than newline and tab, a
// byte that is not UTF-8 and a character that does not fit become '?'.
std::string printable(std::string_view text, std::size_t bytes_max);

}  // namespace kq::sys
