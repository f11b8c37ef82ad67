#include "gpu_worker/judge/check/degenerate_tolerance.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

constexpr Tolerance kSingle{.rtol = 1e-4, .atol = 1e-4};
constexpr Tolerance kHalf{.rtol = 1e-2, .atol = 1e-2};

// A row of a softmax: all of it positive, a sum of one.
std::vector<double> softmax(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> row(n);
  double sum = 0;
  for (double& x : row) sum += x = std::exp(static_cast<double>(random() % 1'000'000) / 1e6);
  for (double& x : row) x /= sum;
  return row;
}
std::vector<double> times(std::vector<double> row, double factor) {
  for (double& x : row) x *= factor;
  return row;
}

TEST(Likeness, tells_zeros_and_constants_from_a_long_softmax) {
  const auto row = softmax(32'768, 1);
  const std::vector<double> zeros(row.size()), constant(row.size(), 1.0 / static_cast<double>(row.size()));
  for (const Tolerance tolerance : {kSingle, kHalf}) {
    EXPECT_TRUE(likeness(row, row, tolerance).zeros_are_right);
    EXPECT_TRUE(likeness(row, row, tolerance).is_like);
    EXPECT_TRUE(likeness(row, times(row, 1.002), tolerance).is_like) << "half precision";
    EXPECT_FALSE(likeness(row, zeros, tolerance).is_like);
    EXPECT_FALSE(likeness(row, constant, tolerance).is_like);
    EXPECT_FALSE(likeness(row, softmax(row.size(), 2), tolerance).is_like) << "of other inputs";
  }
  const auto short_row = softmax(100, 1);
  EXPECT_FALSE(likeness(short_row, std::vector<double>(100), kSingle).zeros_are_right);
}

TEST(Likeness, one_number_and_constants_are_like_what_is_near) {
  EXPECT_TRUE(likeness(std::vector{5e-3}, std::vector{6e-3}, kHalf).is_like) << "a loss that cancels";
  EXPECT_FALSE(likeness(std::vector(100, 5e-3), std::vector(100, 0.0), kHalf).is_like);
  EXPECT_TRUE(likeness(std::vector(100, 3e-5), std::vector(100, 3.0001e-5), kSingle).is_like);
  EXPECT_TRUE(likeness(std::vector(100, 0.0), std::vector(100, 0.0), kSingle).is_like);
}

// A mean of what was centred: both are rounding, and neither is like the other.
TEST(Likeness, rounding_is_like_rounding) {
  const std::vector<double> none(100), noise(100, 6e-7);
  EXPECT_TRUE(likeness(none, noise, kSingle).is_like);
  EXPECT_TRUE(likeness(noise, none, kSingle).is_like);
  EXPECT_FALSE(likeness(none, std::vector(100, 2e-6), kSingle).is_like);
  EXPECT_TRUE(likeness(none, std::vector(100, 4e-6), kHalf).is_like);
  EXPECT_TRUE(likeness({}, {}, kSingle).is_like);
}

TEST(Likeness, what_is_not_finite_is_left_out) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  std::vector<double> masked = softmax(32'768, 1);
  masked[0] = nan, masked[7] = -kInfinity;
  std::vector<double> zeros(masked.size());
  zeros[0] = nan, zeros[7] = -kInfinity;
  EXPECT_TRUE(likeness(masked, masked, kSingle).is_like);
  EXPECT_TRUE(likeness(masked, masked, kSingle).zeros_are_right);
  EXPECT_FALSE(likeness(masked, zeros, kSingle).is_like);
  EXPECT_FALSE(likeness(std::vector{nan}, std::vector{nan}, kSingle).zeros_are_right);
}

}  // namespace
}  // namespace kq::judge
