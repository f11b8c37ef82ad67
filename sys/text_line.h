// Reads values from small texts of Linux such as /proc/cpuinfo, /proc/meminfo and /etc/os-release.
#pragma once

#include <string_view>

namespace kq::sys {

// Returns the text after the separator on the first line that begins with `key`, without blanks around it. Returns an
// empty text if no line begins with `key` and has the separator.
std::string_view value_of(std::string_view text, std::string_view key, char separator = ':');

}  // namespace kq::sys
