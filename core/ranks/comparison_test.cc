#include "core/ranks/comparison.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace kq {
namespace {

// Returns the probability that the range of `count` standard normal values is below q, by Simpson's rule.
double probability(double q, double count) {
  const auto below = [](double z) { return std::erfc(-z / std::sqrt(2)) / 2; };
  const auto integrand = [&](double z) {
    return count * std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1)) * std::pow(below(z) - below(z - q), count - 1);
  };
  constexpr int kSteps = 2'000;
  constexpr double kFrom = -8, kTo = 16, kWidth = (kTo - kFrom) / kSteps;
  double sum = integrand(kFrom) + integrand(kTo);
  for (int i = 1; i < kSteps; ++i) sum += (i % 2 == 1 ? 4 : 2) * integrand(kFrom + i * kWidth);
  return sum * kWidth / 3;
}

double quantile(double count) {
  double low = 1, high = 16;
  for (int i = 0; i < 40; ++i) (probability((low + high) / 2, count) < 0.95 ? low : high) = (low + high) / 2;
  return low;
}

TEST(NoiseFactor, is_that_of_tukeys_honestly_significant_difference_within_one_percent) {
  const double two = quantile(2);
  EXPECT_NEAR(two, 2.772, 0.001);
  EXPECT_NEAR(quantile(20), 5.012, 0.001) << "the integral agrees with published tables";
  for (std::size_t count = 2; count < 10'000'000; count += 1 + count / 3) {
    const double exact = quantile(static_cast<double>(count)) / two;
    EXPECT_NEAR(noise_factor(count), exact, 0.01 * exact) << count << " kernels";
  }
}

TEST(NoiseFactor, grows_with_the_count) {
  EXPECT_EQ(noise_factor(0), 1);
  EXPECT_EQ(noise_factor(1), 1);
  EXPECT_EQ(noise_factor(2), 1);
  for (std::size_t count = 2; count < 2'000; ++count) EXPECT_LT(noise_factor(count), noise_factor(count + 1)) << count;
}

TEST(Lead, is_the_difference_in_units_of_the_noise_of_both) {
  EXPECT_DOUBLE_EQ(lead({90, 3}, {100, 4}), 2);
  EXPECT_DOUBLE_EQ(lead({100, 3}, {90, 4}), -2);
  EXPECT_EQ(lead({100, 3}, {100, 4}), 0);
}

TEST(Lead, without_noise_is_whether_one_is_faster) {
  EXPECT_EQ(lead({9, 0}, {10, 0}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(lead({10, 0}, {10, 0}), 0);
  EXPECT_LT(lead({11, 0}, {10, 0}), 0);
}

TEST(Lead, counts_the_noise_of_the_slower_kernel_up_to_a_quarter_and_that_of_the_faster_one_in_full) {
  EXPECT_DOUBLE_EQ(lead({100, 0}, {200, 1'000}), 2) << "scattered times hide no slow kernel";
  EXPECT_DOUBLE_EQ(lead({100, 1'000}, {200, 0}), 0.1) << "and make no kernel fast";
}

std::vector<Figure> random_figures(std::mt19937& random, std::size_t count) {
  std::vector<Figure> figures;
  for (std::size_t i = 0; i < count; ++i) {
    const double median_ns = 80 + static_cast<double>(random() % 40);
    figures.push_back({median_ns, 1 + static_cast<double>(random() % 50)});
  }
  return figures;
}

TEST(Lead, beyond_one_factor_is_transitive) {
  std::mt19937 random(1);
  const auto kernels = random_figures(random, 60);
  for (const Figure& a : kernels) {
    for (const Figure& b : kernels) {
      for (const Figure& c : kernels) {
        if (lead(a, b) > 1.5 && lead(b, c) > 1.5) {
          EXPECT_GT(lead(a, c), 1.5);
        }
      }
    }
  }
}

TEST(Holders, take_the_place_beyond_the_noise_of_the_kernels_so_far) {
  const std::vector<Figure> two = {{100, 3}, {95, 3}};
  EXPECT_EQ(holders(two), (std::vector<std::size_t>{0, 1}));
  const std::vector<Figure> later = {{100, 3}, {110, 3}, {110, 3}, {110, 3}, {95, 3}};
  EXPECT_EQ(holders(later), std::vector<std::size_t>{0}) << "the fifth kernel must be faster by more";
  const std::vector<Figure> slow = {{100, 3}, {95, 3}, {110, 3}, {110, 3}, {110, 3}};
  EXPECT_EQ(holders(slow), (std::vector<std::size_t>{0, 1})) << "slow kernels take no record away";
  EXPECT_TRUE(holders({}).empty());
}

TEST(Holders, the_last_one_is_beaten_by_no_kernel_of_the_board) {
  std::mt19937 random(2);
  for (int world = 0; world < 2'000; ++world) {
    const auto kernels = random_figures(random, 1 + random() % 30);
    const Figure& last = kernels[holders(kernels).back()];
    for (const Figure& other : kernels) EXPECT_LE(lead(other, last), noise_factor(kernels.size())) << world;
  }
}

// Returns how many of `boards` boards of equal kernels have a kernel behind the first rank.
int ranked_boards(std::size_t count, double factor, int boards) {
  std::mt19937 random(3);
  // The noise of a figure is two of its standard deviations, so that two equal kernels differ beyond it once in 22
  // comparisons.
  std::normal_distribution<double> median_ns(1'000, 5);
  int found = 0;
  for (int board = 0; board < boards; ++board) {
    Figure fastest{2'000, 10}, slowest{0, 10};
    for (std::size_t i = 0; i < count; ++i) {
      const double now_ns = median_ns(random);
      fastest.median_ns = std::min(fastest.median_ns, now_ns);
      slowest.median_ns = std::max(slowest.median_ns, now_ns);
    }
    found += lead(fastest, slowest) > factor ? 1 : 0;
  }
  return found;
}

TEST(NoiseFactor, ranks_many_equal_kernels_as_seldom_as_two) {
  constexpr int kBoards = 4'000;
  EXPECT_NEAR(ranked_boards(2, noise_factor(2), kBoards), 0.046 * kBoards, 0.015 * kBoards);
  EXPECT_NEAR(ranked_boards(20, noise_factor(20), kBoards), 0.046 * kBoards, 0.015 * kBoards);
  EXPECT_GT(ranked_boards(20, 1, kBoards), kBoards / 2) << "without the factor most boards rank equal kernels";
}

}  // namespace
}  // namespace kq
