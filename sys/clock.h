// The only door to the time of day and to monotonic time.
#pragma once

#include <cstdint>

namespace kq::sys {

std::int64_t unix_now_ms();       // wall clock, for timestamps people read
std::int64_t monotonic_now_ms();  // never goes back, for deadlines

}  // namespace kq::sys
