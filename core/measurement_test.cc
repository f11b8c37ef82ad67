#include "core/measurement.h"

#include <gtest/gtest.h>

#include <cmath>
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

TEST(Noise, is_three_standard_errors_by_the_median_deviation_and_at_least_a_hundredth) {
  const std::vector<std::int64_t> samples = {90, 95, 100, 105, 110};
  EXPECT_NEAR(median_error_ns(samples), 1.2533 * 1.4826 * 5 / std::sqrt(5), 1e-9);
  EXPECT_DOUBLE_EQ(noise_of(samples, 100), 3 * median_error_ns(samples));
  EXPECT_DOUBLE_EQ(noise_of(std::vector<std::int64_t>{100, 100, 100}, 100), 1);
  const std::vector<std::int64_t> outlier = {90, 95, 100, 105, 5'000};
  EXPECT_DOUBLE_EQ(median_error_ns(outlier), median_error_ns(samples)) << "one long call does not count";
}

TEST(Noise, of_one_sample_is_infinite) {
  EXPECT_TRUE(std::isinf(noise_of(std::vector<std::int64_t>{100}, 100)));
  Measurement measurement;
  measurement.submission = measurement.reference = {.sample_count = 1, .median_ns = 10};
  EXPECT_TRUE(std::isinf(submission_noise_ns(measurement)));
  EXPECT_TRUE(std::isinf(speedup_noise(measurement)));
}

TEST(Noise, follows_from_the_deviation_where_the_judge_did_not_report_it) {
  Measurement measurement;
  measurement.submission = {.sample_count = 25, .median_ns = 100, .std_ns = 10};
  measurement.reference = {.sample_count = 25, .median_ns = 200, .std_ns = 0};
  EXPECT_NEAR(submission_noise_ns(measurement), 3 * 1.2533 * 10 / 5, 1e-9);
  EXPECT_DOUBLE_EQ(reference_noise_ns(measurement), 2);
  EXPECT_NEAR(speedup_noise(measurement), 2 * std::hypot(0.075198, 0.01), 1e-6);
  measurement.noise_ns = 4;
  EXPECT_DOUBLE_EQ(submission_noise_ns(measurement), 4);
}

}  // namespace
}  // namespace kq
