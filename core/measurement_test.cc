#include "core/measurement.h"

#include <gtest/gtest.h>

#include <vector>

namespace kq {
namespace {

Statistics of(const std::vector<std::int64_t>& samples_ns) {
  return summarise(samples_ns);
}

Measurement medians(double submission_ns, double reference_ns) {
  Measurement measurement;
  measurement.submission.median_ns = submission_ns;
  measurement.reference.median_ns = reference_ns;
  return measurement;
}

TEST(Summarise, no_samples_are_all_zero) {
  EXPECT_EQ(of({}), Statistics{});
}

TEST(Summarise, one_sample_has_no_deviation) {
  EXPECT_EQ(of({7}),
            (Statistics{.sample_count = 1, .median_ns = 7, .mean_ns = 7, .std_ns = 0, .min_ns = 7, .max_ns = 7}));
}

TEST(Summarise, takes_the_middle_of_an_odd_number_in_any_order) {
  EXPECT_EQ(of({9, 1, 5}),
            (Statistics{.sample_count = 3, .median_ns = 5, .mean_ns = 5, .std_ns = 4, .min_ns = 1, .max_ns = 9}));
}

TEST(Summarise, takes_the_mean_of_the_two_in_the_middle_of_an_even_number) {
  const Statistics statistics = of({4, 1, 100, 3});
  EXPECT_EQ(statistics.median_ns, 3.5);
  EXPECT_EQ(statistics.mean_ns, 27);
}

TEST(Summarise, deviation_is_the_sample_deviation) {
  EXPECT_DOUBLE_EQ(of({2, 4, 4, 4, 5, 5, 7, 9}).std_ns * of({2, 4, 4, 4, 5, 5, 7, 9}).std_ns, 32.0 / 7);
}

TEST(Summarise, an_outlier_moves_the_mean_and_not_the_median) {
  const Statistics statistics = of({10, 10, 10, 10, 1'000'000});
  EXPECT_EQ(statistics.median_ns, 10);
  EXPECT_EQ(statistics.mean_ns, 200'008);
}

TEST(Summarise, negative_and_huge_samples_do_not_overflow) {
  const Statistics statistics = of({INT64_MIN, INT64_MAX, INT64_MAX, INT64_MIN});
  EXPECT_EQ(statistics.min_ns, -0x1p63);
  EXPECT_EQ(statistics.max_ns, 0x1p63);
  EXPECT_EQ(statistics.median_ns, 0);
  EXPECT_EQ(of({-5, -3}).median_ns, -4);
}

TEST(Speedup, is_reference_over_submission) {
  EXPECT_EQ(speedup(medians(2, 20)), 10);
  EXPECT_EQ(speedup(medians(20, 2)), 0.1);
}

TEST(Speedup, is_nothing_where_a_median_is_missing_or_not_positive) {
  EXPECT_EQ(speedup(medians(0, 20)), 0);
  EXPECT_EQ(speedup(medians(20, 0)), 0);
  EXPECT_EQ(speedup(medians(-1, 20)), 0);
  EXPECT_EQ(speedup(medians(20, -1)), 0);
}

}  // namespace
}  // namespace kq
