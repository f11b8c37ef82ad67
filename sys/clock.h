// Functions that read the wall clock and the monotonic clock. All other code gets the time from here.
#pragma once

#include <cstdint>

namespace kq::sys {

std::int64_t unix_now_ms();       // milliseconds since 1970 by the wall clock, for timestamps
std::int64_t monotonic_now_ms();  // milliseconds by a clock that never goes back, for deadlines

}  // namespace kq::sys
