#include "producer/client/board_noise.h"

#include <limits>

#include <gtest/gtest.h>

namespace kq::producer {
namespace {

TEST(BoardNoise, a_speedup_has_the_noise_of_both_times) {
  LeaderboardRow row;
  row.median_ns = 100;
  row.reference_ns = 200;
  EXPECT_EQ(speedup_noise(row), 0) << "the noises are unknown";
  row.noise_ns = 3;
  row.reference_noise_ns = 8;
  EXPECT_DOUBLE_EQ(speedup_noise(row), 2 * 0.05);
  row.noise_ns = std::numeric_limits<double>::infinity();
  EXPECT_EQ(speedup_noise(row), 0);
  row.noise_ns = 3;
  row.median_ns = 0;
  EXPECT_EQ(speedup_noise(row), 0);
}

}  // namespace
}  // namespace kq::producer
