#include "gpu_worker/judge/device/clock.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

TEST(Clock, counts_nanoseconds) {
  const std::int64_t start_ns = clock_ns();
  ::usleep(1'000);
  EXPECT_GE(clock_ns() - start_ns, 900'000);
}

}  // namespace
}  // namespace kq::judge
