#include "tools/report/compare/mann_whitney.h"

#include <gmock/gmock.h>

#include <random>

namespace kq::tools {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// A separate calculation by hand gives the expected value: U = 6 and a variance of 48.19.
TEST(MannWhitney, corrects_for_ties_and_continuity) {
  const std::vector<double> a{1, 2, 3, 4, 5, 5, 6}, b{4, 5, 6, 7, 8, 9};
  EXPECT_NEAR(rank_sum_p(a, b), 0.0367334, 1e-6);
  EXPECT_DOUBLE_EQ(rank_sum_p(a, b), rank_sum_p(b, a));
}

TEST(MannWhitney, few_or_equal_samples_say_nothing) {
  EXPECT_EQ(rank_sum_p(std::vector<double>{1, 1, 1, 1}, std::vector<double>{9, 9, 9, 9, 9}), 1);
  EXPECT_EQ(rank_sum_p(std::vector<double>(6, 2.0), std::vector<double>(6, 2.0)), 1);
}

TEST(MannWhitney, finds_a_difference_in_one_of_a_hundred_pairs_of_one_distribution) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> time(0, 0.3);
  int found = 0;
  for (int pair = 0; pair < 2'000; ++pair) {
    std::vector<double> a(20), b(20);
    for (double& value : a) value = time(random);
    for (double& value : b) value = time(random);
    found += rank_sum_p(a, b) < 0.01 ? 1 : 0;
  }
  EXPECT_GT(found, 5);
  EXPECT_LT(found, 40);
}

TEST(MannWhitney, many_tests_need_stronger_evidence) {
  const std::vector<double> p{0.01, 0.04, 0.03, 0.005};
  EXPECT_THAT(adjusted_p(p), ElementsAre(DoubleNear(0.02, 1e-12), DoubleNear(0.04, 1e-12), DoubleNear(0.04, 1e-12),
                                         DoubleNear(0.02, 1e-12)));
  EXPECT_TRUE(adjusted_p({}).empty());
}

}  // namespace
}  // namespace kq::tools
