#include "gpu_worker/judge/timing/published_time.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

using Samples = std::vector<std::int64_t>;

Samples around(std::int64_t ns, std::int64_t spread_ns, std::size_t n, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Samples samples(n);
  for (auto& sample : samples)
    sample = ns - spread_ns + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * spread_ns + 1));
  return samples;
}

TEST(PublishedTime, is_0_without_samples_and_the_judges_time_without_events) {
  EXPECT_EQ(published_time({}, {}, 0).median_ns, 0);
  const PublishedTime alone = published_time(Samples{10, 20, 30}, {}, 5);
  EXPECT_EQ(alone.median_ns, 20);
  EXPECT_EQ(alone.judge_ns, 20);
  EXPECT_EQ(alone.event_ns, 0);
  EXPECT_TRUE(alone.clock_mismatch.empty());
}

TEST(PublishedTime, an_honest_event_refines_within_the_slack) {
  const PublishedTime found = published_time(around(100'000, 1'500, 100), around(99'900, 100, 100), 0);
  EXPECT_NEAR(found.median_ns, 99'900, 60);
  EXPECT_TRUE(found.clock_mismatch.empty());
}

TEST(PublishedTime, an_event_above_the_judges_time_is_published) {
  EXPECT_EQ(published_time(Samples{100, 100, 100}, Samples{140, 140, 140}, 0).median_ns, 140);
}

TEST(PublishedTime, a_forged_event_gains_the_slack_and_no_more) {
  EXPECT_NEAR(published_time(around(10'000, 100, 100), Samples(100, 1), 0).median_ns, 10'000 - kSlackMaxNs, 100);
  EXPECT_EQ(published_time(Samples(100, 4'000), Samples(100, 1), 0).median_ns, 3'000);
  // Scattering half of the calls on purpose widens any error bar; the cap holds.
  Samples scattered(100, 10'000);
  for (std::size_t i = 0; i < 49; ++i) scattered[i] = 10'000 + static_cast<std::int64_t>(i) * 1'000'000;
  EXPECT_GE(published_time(scattered, Samples(100, 1), 0).median_ns, 10'000 - kSlackMaxNs);
  EXPECT_GE(published_time(around(10'000'000, 4'000'000, 20), Samples(20, 9'000'000), 0).median_ns, 9'000'000);
}

TEST(PublishedTime, load_that_delayed_half_of_the_calls_is_not_published) {
  Samples samples(100, 30'000);
  for (std::size_t i = 0; i < 60; ++i) samples[i] = 34'000 + static_cast<std::int64_t>(i);
  EXPECT_EQ(published_time(samples, Samples(100, 29'500), 0).median_ns, 29'500);
  EXPECT_NEAR(published_time(samples, Samples(100, 29'500), 0).judge_ns, 34'000, 60);
  EXPECT_EQ(published_time(samples, Samples(100, 1), 0).median_ns, 30'000 - kSlackMaxNs) << "forged";
  for (std::size_t i = 60; i < 80; ++i) samples[i] = 34'000;
  EXPECT_EQ(published_time(samples, Samples(100, 29'500), 0).median_ns, 34'000 - kSlackMaxNs)
      << "the load delayed most of the calls";
  std::fill(samples.begin(), samples.begin() + 60, 300'000);
  std::fill(samples.begin() + 60, samples.end(), 30'000);
  EXPECT_EQ(published_time(samples, Samples(100, 1), 0).median_ns, 290'000 - 3 * kCalibrationErrorNs)
      << "a host is not delayed that much";
  std::fill(samples.begin(), samples.begin() + 60, 34'003);
  EXPECT_EQ(
      published_time(std::span(samples).first(kQuartileSamplesMin - 1), Samples(kQuartileSamplesMin - 1, 29'500), 0)
          .median_ns,
      34'003 - kSlackMaxNs);
}

TEST(PublishedTime, an_event_that_a_right_calibration_would_not_allow_is_implausible_and_published_all_the_same) {
  const PublishedTime found = published_time(Samples(100, 10'000), Samples(100, 8'500), 0);
  EXPECT_EQ(found.median_ns, 8'500);
  EXPECT_TRUE(found.is_event_implausible);
  EXPECT_FALSE(published_time(Samples(100, 10'000), Samples(100, 8'500), 1'600).is_event_implausible)
      << "the drift widens what is allowed";
  EXPECT_FALSE(published_time(Samples(100, 10'000), Samples(100, 10'500), 0).is_event_implausible);
  EXPECT_FALSE(published_time(Samples(100, 10'000), {}, 0).is_event_implausible);
}

TEST(PublishedTime, a_reference_has_its_own_time_where_the_judge_does_not_contradict_it) {
  EXPECT_EQ(reference_median_ns(Samples(7, 20'000), Samples(7, 11'300)), 11'300);
  EXPECT_EQ(reference_median_ns(Samples(7, 9'000), Samples(7, 11'300)), 11'300);
  EXPECT_EQ(reference_median_ns(Samples(7, 9'000), Samples(7, 50'000)), 9'000 + 3 * kCalibrationErrorNs)
      << "more than the calibration can be off";
  EXPECT_EQ(reference_median_ns(Samples(7, 20'000), {}), 20'000);
  EXPECT_EQ(reference_median_ns(Samples{20'000, 20'000, 20'000}, Samples{11'300, 0, 11'300}), 20'000);
  EXPECT_EQ(reference_median_ns(Samples(7, 20'000), Samples(7, 90'000)), 20'000)
      << "the events are forged to look slow";
  EXPECT_EQ(reference_median_ns({}, {}), 0);
}

TEST(PublishedTime, drift_widens_the_slack_up_to_the_cap) {
  const Samples samples(50, 200'000);
  EXPECT_EQ(published_time(samples, Samples(50, 1'000), 0).median_ns, 200'000 - 3 * kCalibrationErrorNs);
  EXPECT_EQ(published_time(samples, Samples(50, 1'000), 500).median_ns, 199'500 - 3 * kCalibrationErrorNs);
  EXPECT_EQ(published_time(samples, Samples(50, 1'000), -500).median_ns, 199'500 - 3 * kCalibrationErrorNs);
  EXPECT_EQ(published_time(samples, Samples(50, 1'000), 1e9).median_ns, 196'000);
}

// A calibration that is off by a microsecond is off by that in every sample, but not in the burst time.
TEST(PublishedTime, a_burst_time_refines_within_its_slack_and_is_never_undercut) {
  EXPECT_EQ(published_time(Samples(50, 15'600), Samples(50, 14'080), 0, 13'000).median_ns, 14'080);
  EXPECT_EQ(published_time(Samples(50, 16'940), Samples(50, 14'240), 0, 13'000).median_ns, 14'240);
  EXPECT_EQ(published_time(Samples(50, 16'940), Samples(50, 14'240), 0).median_ns, 14'940);
  // A burst time is off by some percent, events are not: a burst time that is too large changes nothing.
  EXPECT_EQ(published_time(Samples(50, 15'600), Samples(50, 14'210), 0, 14'520).median_ns, 14'210);
  // Forged events: the burst time less its error is published. Both forged: the slack limits the gain.
  EXPECT_EQ(published_time(Samples(50, 15'600), Samples(50, 1), 0, 14'000).median_ns, 13'300);
  EXPECT_EQ(published_time(Samples(50, 15'600), Samples(50, 1), 0, 1).median_ns, 15'600 - kBurstSlackNs);
  EXPECT_EQ(published_time(Samples(50, 6'000), Samples(50, 1), 0, 1).median_ns, 4'500);
  // A host that is slower than the GPU makes the burst time too large, which changes nothing.
  EXPECT_EQ(published_time(Samples(50, 15'600), Samples(50, 13'000), 0, 40'000).median_ns, 13'600);
  EXPECT_EQ(published_time(around(15'600, 1'500, 100), Samples(100, 14'900), 0, 40'000).median_ns,
            published_time(around(15'600, 1'500, 100), Samples(100, 14'900), 0).median_ns);
  EXPECT_EQ(published_time(Samples(50, 15'600), {}, 0, 13'000).median_ns, 15'600);
}

TEST(PublishedTime, clocks_that_cannot_both_be_right_are_reported) {
  EXPECT_TRUE(published_time(Samples(9, 100'000), Samples(9, 60'000), 0).clock_mismatch.empty());
  EXPECT_EQ(published_time(Samples(9, 1'000'000), Samples(9, 3'000), 0).clock_mismatch,
            "the judge's clock says 1000.0 us a call, the clock inside of the submission's process 3.0 us");
  EXPECT_FALSE(published_time(Samples(9, 1'000'000), Samples(9, 2'000'000), 0).clock_mismatch.empty());
}

TEST(PublishedTime, times_that_are_not_positive_are_ignored) {
  EXPECT_EQ(published_time(Samples{100, 100}, Samples{0, 50}, 0).median_ns, 100);
  EXPECT_EQ(published_time(Samples{100, 100}, Samples{-50, -50}, 0).median_ns, 100);
}

}  // namespace
}  // namespace kq::judge
