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

// Returns a row of a softmax: positive elements with a sum of one.
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

TEST(DegenerateCheck, zeros_and_constants_are_not_close_to_a_long_softmax) {
  const auto row = softmax(32'768, 1);
  const std::vector<double> zeros(row.size()), constant(row.size(), 1.0 / static_cast<double>(row.size()));
  for (const Tolerance tolerance : {kSingle, kHalf}) {
    EXPECT_TRUE(check_degenerate(row, row, tolerance).zeros_pass);
    EXPECT_TRUE(check_degenerate(row, row, tolerance).is_close);
    EXPECT_TRUE(check_degenerate(row, times(row, 1.002), tolerance).is_close) << "half precision";
    EXPECT_FALSE(check_degenerate(row, zeros, tolerance).is_close);
    EXPECT_FALSE(check_degenerate(row, constant, tolerance).is_close);
    EXPECT_FALSE(check_degenerate(row, softmax(row.size(), 2), tolerance).is_close) << "of other inputs";
  }
  const auto short_row = softmax(100, 1);
  EXPECT_FALSE(check_degenerate(short_row, std::vector<double>(100), kSingle).zeros_pass);
}

TEST(DegenerateCheck, one_number_and_constants_are_close_to_near_values) {
  EXPECT_TRUE(check_degenerate(std::vector{5e-3}, std::vector{6e-3}, kHalf).is_close) << "a loss that cancels";
  EXPECT_FALSE(check_degenerate(std::vector(100, 5e-3), std::vector(100, 0.0), kHalf).is_close);
  EXPECT_TRUE(check_degenerate(std::vector(100, 3e-5), std::vector(100, 3.0001e-5), kSingle).is_close);
  EXPECT_TRUE(check_degenerate(std::vector(100, 0.0), std::vector(100, 0.0), kSingle).is_close);
}

// The mean of centred values consists of rounding errors, and so does the output; they have nothing else in common.
TEST(DegenerateCheck, rounding_errors_are_close_to_rounding_errors) {
  const std::vector<double> none(100), noise(100, 6e-7);
  EXPECT_TRUE(check_degenerate(none, noise, kSingle).is_close);
  EXPECT_TRUE(check_degenerate(noise, none, kSingle).is_close);
  EXPECT_FALSE(check_degenerate(none, std::vector(100, 2e-6), kSingle).is_close);
  EXPECT_TRUE(check_degenerate(none, std::vector(100, 4e-6), kHalf).is_close);
  EXPECT_TRUE(check_degenerate({}, {}, kSingle).is_close);
}

TEST(DegenerateCheck, elements_that_are_not_finite_are_left_out) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  std::vector<double> masked = softmax(32'768, 1);
  masked[0] = nan, masked[7] = -kInfinity;
  std::vector<double> zeros(masked.size());
  zeros[0] = nan, zeros[7] = -kInfinity;
  EXPECT_TRUE(check_degenerate(masked, masked, kSingle).is_close);
  EXPECT_TRUE(check_degenerate(masked, masked, kSingle).zeros_pass);
  EXPECT_FALSE(check_degenerate(masked, zeros, kSingle).is_close);
  EXPECT_FALSE(check_degenerate(std::vector{nan}, std::vector{nan}, kSingle).zeros_pass);
}

}  // namespace
}  // namespace kq::judge
