#include "gpu_worker/judge/timing/concurrent_warm_ups.h"

#include <time.h>

#include <cstdint>

#include "gpu_worker/judge/device/clock.h"

namespace kq::judge {
namespace {

constexpr timespec kPollInterval{0, 50'000};

}  // namespace

void ConcurrentWarmUps::wait() const {
  const std::int64_t start_ns = clock_ns();
  while (any() && clock_ns() - start_ns < wait_max_ns_) ::nanosleep(&kPollInterval, nullptr);
}

}  // namespace kq::judge
