// Values in the small texts by which Linux tells of itself: /proc/cpuinfo, /proc/meminfo, /etc/os-release.
#pragma once

#include <string_view>

namespace kq::sys {

// The text behind "key <separator>" on the first line that begins with `key`, without blanks around it; empty where
// there is none.
std::string_view value_of(std::string_view text, std::string_view key, char separator = ':');

}  // namespace kq::sys
