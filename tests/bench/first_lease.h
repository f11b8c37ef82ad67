// How long a broker takes from its start until work goes on.
#pragma once

#include <cstdint>

namespace kq::bench {

// The monotonic instant at which a worker got its first lease; it asks all the while, so the broker may start later.
std::int64_t await_first_lease(int port);

}  // namespace kq::bench
