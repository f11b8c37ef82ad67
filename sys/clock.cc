#include "sys/clock.h"

#include <chrono>

namespace kq::sys {
namespace {

template <class Clock>
std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

std::int64_t unix_now_ms() {
  return now_ms<std::chrono::system_clock>();
}
std::int64_t monotonic_now_ms() {
  return now_ms<std::chrono::steady_clock>();
}

}  // namespace kq::sys
