// The judge's clock.
#pragma once

#include <cstdint>

namespace kq::judge {

// Monotonic time in nanoseconds. The clock is CLOCK_MONOTONIC_RAW, whose rate NTP does not adjust.
std::int64_t clock_ns();

}  // namespace kq::judge
