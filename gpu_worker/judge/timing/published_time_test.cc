#include "gpu_worker/judge/timing/published_time.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

using Samples = std::vector<std::int64_t>;

Samples hooks(std::int64_t ns, std::int64_t spread_ns, std::size_t n, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  Samples samples(n);
  for (auto& sample : samples)
    sample = ns - spread_ns + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * spread_ns + 1));
  return samples;
}

TEST(PublishedTime, without_samples_or_events_there_is_nothing_to_weigh) {
  EXPECT_EQ(published_time({}, {}, 0).median_ns, 0);
  const PublishedTime alone = published_time(Samples{10, 20, 30}, {}, 5);
  EXPECT_EQ(alone.median_ns, 20);
  EXPECT_EQ(alone.judge_ns, 20);
  EXPECT_EQ(alone.event_ns, 0);
  EXPECT_TRUE(alone.clock_mismatch.empty());
}

TEST(PublishedTime, an_honest_event_refines_within_the_slack) {
  const PublishedTime found = published_time(hooks(100'000, 1'500, 100), hooks(99'900, 100, 100), 0);
  EXPECT_NEAR(found.median_ns, 99'900, 60);
  EXPECT_TRUE(found.clock_mismatch.empty());
}

TEST(PublishedTime, an_event_above_the_judges_time_is_taken_at_its_word) {
  EXPECT_EQ(published_time(Samples{100, 100, 100}, Samples{140, 140, 140}, 0).median_ns, 140);
}

TEST(PublishedTime, a_forged_event_gains_the_slack_and_no_more) {
  EXPECT_NEAR(published_time(hooks(10'000, 100, 100), Samples(100, 1), 0).median_ns, 10'000 - kSlackMaxNs, 100);
  EXPECT_EQ(published_time(Samples(100, 4'000), Samples(100, 1), 0).median_ns, 3'000);
  // Scattering half of the calls on purpose widens any error bar; the cap holds.
  Samples scattered(100, 10'000);
  for (std::size_t i = 0; i < 49; ++i) scattered[i] = 10'000 + static_cast<std::int64_t>(i) * 1'000'000;
  EXPECT_GE(published_time(scattered, Samples(100, 1), 0).median_ns, 10'000 - kSlackMaxNs);
  EXPECT_GE(published_time(hooks(10'000'000, 4'000'000, 20), Samples(20, 9'000'000), 0).median_ns, 9'000'000);
}

TEST(PublishedTime, what_disturbed_half_of_the_calls_is_not_published) {
  Samples samples(100, 30'000);
  for (std::size_t i = 0; i < 60; ++i) samples[i] = 34'000 + static_cast<std::int64_t>(i);
  EXPECT_EQ(published_time(samples, Samples(100, 29'500), 0).median_ns, 29'500);
  EXPECT_NEAR(published_time(samples, Samples(100, 29'500), 0).judge_ns, 34'000, 60);
  EXPECT_EQ(published_time(samples, Samples(100, 1), 0).median_ns, 30'000 - kSlackMaxNs) << "forged";
  for (std::size_t i = 60; i < 80; ++i) samples[i] = 34'000;
  EXPECT_EQ(published_time(samples, Samples(100, 29'500), 0).median_ns, 34'000 - kSlackMaxNs) << "that is most of them";
  std::fill_n(samples.begin(), 60, 300'000);
  std::fill(samples.begin() + 60, samples.end(), 30'000);
  EXPECT_EQ(published_time(samples, Samples(100, 1), 0).median_ns, 290'000 - 3 * kCalibrationErrorNs)
      << "a host is not that late";
  std::fill_n(samples.begin(), 60, 34'003);
  EXPECT_EQ(
      published_time(std::span(samples).first(kQuartileSamplesMin - 1), Samples(kQuartileSamplesMin - 1, 29'500), 0)
          .median_ns,
      34'003 - kSlackMaxNs);
}

TEST(PublishedTime, an_event_that_a_right_calibration_would_not_allow_is_doubted_though_it_is_published) {
  const PublishedTime doubted = published_time(Samples(100, 10'000), Samples(100, 8'500), 0);
  EXPECT_EQ(doubted.median_ns, 8'500);
  EXPECT_TRUE(doubted.is_event_implausible);
  EXPECT_FALSE(published_time(Samples(100, 10'000), Samples(100, 8'500), 1'600).is_event_implausible)
      << "it has drifted";
  EXPECT_FALSE(published_time(Samples(100, 10'000), Samples(100, 10'500), 0).is_event_implausible);
  EXPECT_FALSE(published_time(Samples(100, 10'000), {}, 0).is_event_implausible);
}

TEST(PublishedTime, a_reference_is_as_quick_as_it_says_where_the_judge_does_not_contradict_it) {
  EXPECT_EQ(reference_median_ns(Samples(7, 20'000), Samples(7, 11'300)), 11'300);
  EXPECT_EQ(reference_median_ns(Samples(7, 9'000), Samples(7, 11'300)), 11'300);
  EXPECT_EQ(reference_median_ns(Samples(7, 9'000), Samples(7, 50'000)), 9'000 + 3 * kCalibrationErrorNs)
      << "more than its calibration can be off";
  EXPECT_EQ(reference_median_ns(Samples(7, 20'000), {}), 20'000);
  EXPECT_EQ(reference_median_ns(Samples{20'000, 20'000, 20'000}, Samples{11'300, 0, 11'300}), 20'000);
  EXPECT_EQ(reference_median_ns(Samples(7, 20'000), Samples(7, 90'000)), 20'000)
      << "it says that it is slow, and was not";
  EXPECT_EQ(reference_median_ns({}, {}), 0);
}

TEST(PublishedTime, drift_widens_the_slack_up_to_the_cap) {
  const Samples samples(50, 200'000);
  EXPECT_EQ(published_time(samples, Samples(50, 1'000), 0).median_ns, 200'000 - 3 * kCalibrationErrorNs);
  EXPECT_EQ(published_time(samples, Samples(50, 1'000), 500).median_ns, 199'500 - 3 * kCalibrationErrorNs);
  EXPECT_EQ(published_time(samples, Samples(50, 1'000), -500).median_ns, 199'500 - 3 * kCalibrationErrorNs);
  EXPECT_EQ(published_time(samples, Samples(50, 1'000), 1e9).median_ns, 196'000);
}

// A calibration that was off by a microsecond is off by that in every sample: the share is not.
TEST(PublishedTime, a_share_of_bursts_refines_within_its_slack_and_never_below_it) {
  EXPECT_EQ(published_time(Samples(50, 15'600), Samples(50, 14'080), 0, 13'000).median_ns, 14'080);
  EXPECT_EQ(published_time(Samples(50, 16'940), Samples(50, 14'240), 0, 13'000).median_ns, 14'240);
  EXPECT_EQ(published_time(Samples(50, 16'940), Samples(50, 14'240), 0).median_ns, 14'940);
  // A share is off by some percent, events are not: one that was measured too large changes nothing.
  EXPECT_EQ(published_time(Samples(50, 15'600), Samples(50, 14'210), 0, 14'520).median_ns, 14'210);
  // Events forged: what the share says, less that; both forged: the slack.
  EXPECT_EQ(published_time(Samples(50, 15'600), Samples(50, 1), 0, 14'000).median_ns, 13'300);
  EXPECT_EQ(published_time(Samples(50, 15'600), Samples(50, 1), 0, 1).median_ns, 15'600 - kBurstSlackNs);
  EXPECT_EQ(published_time(Samples(50, 6'000), Samples(50, 1), 0, 1).median_ns, 4'500);
  // A host that is slower than the GPU makes a share too large: that changes nothing.
  EXPECT_EQ(published_time(Samples(50, 15'600), Samples(50, 13'000), 0, 40'000).median_ns, 13'600);
  EXPECT_EQ(published_time(hooks(15'600, 1'500, 100), Samples(100, 14'900), 0, 40'000).median_ns,
            published_time(hooks(15'600, 1'500, 100), Samples(100, 14'900), 0).median_ns);
  EXPECT_EQ(published_time(Samples(50, 15'600), {}, 0, 13'000).median_ns, 15'600);
}

TEST(PublishedTime, clocks_that_cannot_both_be_right_are_told) {
  EXPECT_TRUE(published_time(Samples(9, 100'000), Samples(9, 60'000), 0).clock_mismatch.empty());
  EXPECT_EQ(published_time(Samples(9, 1'000'000), Samples(9, 3'000), 0).clock_mismatch,
            "the judge's clock says 1000.0 us a call, the clock inside of the submission's process 3.0 us");
  EXPECT_FALSE(published_time(Samples(9, 1'000'000), Samples(9, 2'000'000), 0).clock_mismatch.empty());
}

TEST(PublishedTime, nonsense_of_a_child_counts_as_none) {
  EXPECT_EQ(published_time(Samples{100, 100}, Samples{0, 50}, 0).median_ns, 100);
  EXPECT_EQ(published_time(Samples{100, 100}, Samples{-50, -50}, 0).median_ns, 100);
}

}  // namespace
}  // namespace kq::judge
