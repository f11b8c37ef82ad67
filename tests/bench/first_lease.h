// Measures the time from the start of a broker until a worker has its first lease.
#pragma once

#include <cstdint>

namespace kq::bench {

// Connects as a worker, and returns the monotonic time in nanoseconds of its first lease. The worker repeats its hello
// until the broker answers, so the broker may start later. Gives up after five minutes.
std::int64_t await_first_lease(int port);

}  // namespace kq::bench
