#include "gpu_worker/judge/timing/outlier_filter.h"

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

using Micros = std::vector<std::int64_t>;

CallTimes all_during_warm_up(const Micros& intervals_us) {
  CallTimes times;
  for (const std::int64_t us : intervals_us) times.add(us * 1'000, 0, true);
  return times;
}

Micros in_us(const CallTimes& times) {
  Micros us;
  for (const std::int64_t ns : times.intervals_ns) us.push_back(ns / 1'000);
  return us;
}

TEST(OutlierFilter, drops_calls_far_from_the_quick_ones) {
  EXPECT_EQ(in_us(without_outliers(all_during_warm_up({300, 310, 305, 331, 330, 450}))),
            (Micros{300, 310, 305, 331, 330}));
  EXPECT_EQ(in_us(without_outliers(all_during_warm_up({10'000, 10'900, 10'950, 11'200, 10'990}))),
            (Micros{10'000, 10'900, 10'950, 11'200, 10'990}))
      << "a long call may differ by a tenth";
}

TEST(OutlierFilter, drops_outliers_that_are_the_majority_and_alike) {
  EXPECT_EQ(in_us(without_outliers(all_during_warm_up({360, 360, 300, 361, 301, 359, 362, 360}))), (Micros{300, 301}));
  EXPECT_EQ(in_us(reference_without_outliers(all_during_warm_up({360, 360, 360, 361, 300}))), (Micros{300}));
}

TEST(OutlierFilter, one_quick_call_is_not_the_usual_time) {
  EXPECT_EQ(in_us(without_outliers(all_during_warm_up({200, 300, 301, 302, 300}))), (Micros{300, 301, 302, 300}));
}

TEST(SlowMemory, counts_where_most_calls_had_it) {
  CallTimes times;
  for (int i = 0; i < 8; ++i) times.add(300'000, 0, true, i < 6 ? 1.1 : 1.0);
  EXPECT_TRUE(had_slow_memory(times, kSlowShare));
  EXPECT_EQ(without_outliers(times).slowness, times.slowness);
  times.slowness[0] = 1.04;
  EXPECT_FALSE(had_slow_memory(times, kSlowShare));
  EXPECT_TRUE(had_slow_memory(times, kSlowReferenceShare));
  EXPECT_FALSE(had_slow_memory({}, kSlowShare));
}

TEST(OutlierFilter, keeps_calls_measured_without_a_warm_up) {
  CallTimes times = all_during_warm_up({300, 301, 302, 400});
  times.during_warm_up[3] = false;
  times.events_ns = {1, 2, 3, 4};
  const CallTimes kept = without_outliers(times);
  EXPECT_EQ(in_us(kept), in_us(times));
  EXPECT_EQ(kept.events_ns, times.events_ns);
  EXPECT_EQ(kept.during_warm_up, times.during_warm_up);
}

TEST(OutlierFilter, of_no_calls_returns_none) {
  EXPECT_EQ(without_outliers({}).size(), 0u);
  EXPECT_EQ(reference_without_outliers({}).size(), 0u);
}

}  // namespace
}  // namespace kq::judge
