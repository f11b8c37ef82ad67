#include "gpu_worker/judge/check/truth.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "gpu_worker/judge/testing/measured_on_host.h"

namespace kq::judge {
namespace {

constexpr Tolerance kTight{.rtol = 1e-4, .atol = 1e-4};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Numbers of about 100 with an error of this relative size, alternately up and down.
std::vector<double> numbers(double relative_error) {
  std::vector<double> values;
  for (int i = 0; i < 64; ++i) values.push_back((100 + i) * (1 + (i % 2 == 0 ? relative_error : -relative_error)));
  return values;
}

TruthComparison measured(const std::vector<double>& expected, const std::vector<double>& got) {
  TruthComparison comparison(kTight);
  comparison.add(numbers(0), expected, got);
  return comparison;
}

TEST(Truth, an_output_nearer_to_it_than_the_reference_is_right) {
  EXPECT_TRUE(measured(numbers(3e-4), numbers(0)).is_right({}));
  EXPECT_TRUE(measured(numbers(1e-3), numbers(-1e-3)).is_right({}));
}

TEST(Truth, an_output_within_the_tolerance_is_right_however_far_the_reference_is) {
  EXPECT_TRUE(measured(numbers(0.5), numbers(0)).is_right({}));
}

TEST(Truth, a_lower_precision_than_the_reference_has_is_wrong) {
  const TruthComparison comparison = measured(numbers(1e-7), numbers(3e-4));
  EXPECT_FALSE(comparison.is_right({}));
  EXPECT_EQ(comparison.errors().looks_like, "TF32 or float16");
  EXPECT_NEAR(comparison.errors().submission_rms, 3e-4, 1e-6);
  EXPECT_NEAR(comparison.errors().reference_rms, 1e-7, 1e-9);
}

TEST(Truth, the_factors_bound_the_rms_and_the_largest_error) {
  EXPECT_TRUE(measured(numbers(3e-4), numbers(5.9e-4)).is_right({}));
  EXPECT_FALSE(measured(numbers(3e-4), numbers(6.1e-4)).is_right({}));
  EXPECT_TRUE(measured(numbers(3e-4), numbers(6.1e-4)).is_right({.rms = 3}));
  std::vector<double> spike = numbers(3e-4);
  spike[5] = numbers(0)[5] + 5 * 0.0003 * 163;
  EXPECT_FALSE(measured(numbers(3e-4), spike).is_right({}));
  EXPECT_TRUE(measured(numbers(3e-4), spike).is_right({.max = 6}));
}

TEST(Truth, large_tensors_are_measured_like_their_numbers) {
  std::vector<double> truth(200'001);
  std::vector<float> expected(truth.size());
  std::vector<float> got(truth.size());
  for (std::size_t i = 0; i < truth.size(); ++i) {
    truth[i] = 100 + static_cast<double>(i % 64);
    expected[i] = static_cast<float>(truth[i] * 1.0003);
    got[i] = static_cast<float>(truth[i] * 1.0001);
  }
  got[150'000] += 1;
  const auto stored = [](channel::Dtype dtype, const auto& values) {
    return StoredNumbers{dtype, std::as_bytes(std::span(values))};
  };
  TruthComparison slices(kTight);
  slices.add(stored(channel::Dtype::float64, truth), stored(channel::Dtype::float32, expected),
             stored(channel::Dtype::float32, got));
  TruthComparison numbers(kTight);
  numbers.add(truth, std::vector<double>(expected.begin(), expected.end()),
              std::vector<double>(got.begin(), got.end()));
  EXPECT_EQ(slices.errors().submission_max, numbers.errors().submission_max);
  EXPECT_NEAR(slices.errors().submission_rms, numbers.errors().submission_rms, 1e-12);
  EXPECT_NEAR(slices.errors().reference_rms, 3e-4, 1e-6);
}

// Threads of a device that take every fifth element find what the host finds, in total.
TEST(Truth, records_of_a_device_replace_the_sums_of_the_host) {
  for (const double special : {0.0, kNan, std::numeric_limits<double>::infinity()}) {
    for (int side = 0; side < 3; ++side) {
      std::array<std::vector<double>, 3> sides{numbers(0), numbers(3e-4), numbers(1e-4)};
      if (special != 0) sides[static_cast<std::size_t>(side)][5] = special;
      const auto& [truth, expected, got] = sides;
      TruthComparison by_host(kTight);
      by_host.add(truth, expected, got);
      std::vector<TruthRecord> records(5);
      for (std::size_t i = 0; i < truth.size(); ++i) note(records[i % 5], truth[i], expected[i], got[i], kTight);
      TruthComparison by_device(kTight);
      by_device.add_measured(merged(records));
      EXPECT_EQ(by_device.is_right({}), by_host.is_right({})) << special << " on side " << side;
      EXPECT_EQ(by_device.is_conclusive(), by_host.is_conclusive()) << special << " on side " << side;
      EXPECT_EQ(by_device.errors().submission_max, by_host.errors().submission_max);
      EXPECT_EQ(by_device.errors().reference_max, by_host.errors().reference_max);
      EXPECT_NEAR(by_device.errors().submission_rms, by_host.errors().submission_rms, 1e-15);
      EXPECT_NEAR(by_device.errors().reference_rms, by_host.errors().reference_rms, 1e-15);
    }
  }
}

TEST(Truth, a_reference_far_from_it_lets_nothing_pass) {
  const std::vector<double> zeros(64, 0.0);
  const TruthComparison comparison = measured(numbers(0.9), zeros);
  EXPECT_FALSE(comparison.is_conclusive());
  EXPECT_FALSE(comparison.is_right({}));
}

TEST(Truth, nan_must_be_where_the_reference_has_it) {
  std::vector<double> expected = numbers(3e-4), got = numbers(0);
  expected[3] = kNan;
  EXPECT_FALSE(measured(expected, got).is_right({}));
  got[3] = kNan;
  EXPECT_TRUE(measured(expected, got).is_right({}));
  got[4] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(measured(expected, got).is_right({}));
}

TEST(Truth, a_truth_that_is_not_finite_decides_nothing) {
  TruthComparison comparison(kTight);
  std::vector<double> truth = numbers(0);
  truth[0] = kNan;
  comparison.add(truth, numbers(3e-4), numbers(0));
  EXPECT_FALSE(comparison.is_conclusive());
  EXPECT_FALSE(comparison.is_right({}));
}

TEST(Truth, rounding_to_an_allowed_precision_adds_to_what_is_allowed) {
  TruthComparison comparison = measured(numbers(1e-7), numbers(3e-4));
  comparison.add_rounded(numbers(0), numbers(2.5e-4));
  EXPECT_TRUE(comparison.is_right({.allowed = AllowedPrecision::tf32}));
  EXPECT_NEAR(comparison.errors().rounding_rms, 2.5e-4, 1e-6);
}

TEST(Truth, later_trials_are_measured_by_what_earlier_ones_have_allowed) {
  TruthAllowance allowance;
  measured(numbers(3e-4), numbers(0)).widen(allowance, {});
  EXPECT_EQ(allowance.trials, 1u);
  const auto is_right = [&](const std::vector<double>& got) {
    AllowanceComparison comparison;
    comparison.add(numbers(3e-4), got);
    const std::vector<double> expected = numbers(3e-4);
    AllowanceComparison of_stored;
    of_stored.add({channel::Dtype::float64, std::as_bytes(std::span(expected))},
                  {channel::Dtype::float64, std::as_bytes(std::span(got))});
    EXPECT_EQ(of_stored.is_right(allowance), comparison.is_right(allowance));
    return comparison.is_right(allowance);
  };
  EXPECT_TRUE(is_right(numbers(-3e-4)));
  EXPECT_FALSE(is_right(numbers(3e-3)));  // as bfloat16
  std::vector<double> with_nan = numbers(0);
  with_nan[0] = kNan;
  EXPECT_FALSE(is_right(with_nan));
  EXPECT_FALSE(AllowanceComparison().is_right({}));
}

TEST(PrecisionLike, knows_the_ranges_that_were_measured) {
  EXPECT_EQ(precision_like(3e-8, 2e-7), "float32");
  EXPECT_EQ(precision_like(1e-6, 5e-6), "float32");
  EXPECT_EQ(precision_like(2.9e-4, 2e-3), "TF32 or float16");
  EXPECT_EQ(precision_like(3e-3, 2e-2), "bfloat16");
  for (const double other : {0.0, 1e-12, 2e-5, 0.01, 1.0}) EXPECT_EQ(precision_like(other, other), "") << other;
  EXPECT_EQ(precision_like(3e-3, 1), "");  // one wrong element among many right ones
}

}  // namespace
}  // namespace kq::judge
