// The processor time of the calling thread, which other programs on the machine change less than the wall clock.
#pragma once

#include <cstdint>
#include <ctime>

namespace kq::sim {

inline std::int64_t ns_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
inline std::int64_t cpu_ns() {
  return ns_of(CLOCK_THREAD_CPUTIME_ID);
}
inline std::int64_t wall_ns() {
  return ns_of(CLOCK_MONOTONIC);
}

}  // namespace kq::sim
