#include "gpu_worker/judge/timing/outlier_filter.h"

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

using Brackets = std::vector<std::int64_t>;

CallTimes all_beside(const Brackets& brackets_us) {
  CallTimes times;
  for (const std::int64_t us : brackets_us) times.add(us * 1'000, 0, true);
  return times;
}

Brackets in_us(const CallTimes& times) {
  Brackets us;
  for (const std::int64_t ns : times.intervals_ns) us.push_back(ns / 1'000);
  return us;
}

TEST(Disturbed, what_is_far_from_the_quick_ones_is_left_out) {
  EXPECT_EQ(in_us(without_outliers(all_beside({300, 310, 305, 331, 330, 450}))), (Brackets{300, 310, 305, 331, 330}));
  EXPECT_EQ(in_us(without_outliers(all_beside({10'000, 10'900, 10'950, 11'200, 10'990}))),
            (Brackets{10'000, 10'900, 10'950, 11'200, 10'990}))
      << "a tenth of what is long";
}

TEST(Disturbed, most_of_them_alike_are_disturbed_all_the_same) {
  EXPECT_EQ(in_us(without_outliers(all_beside({360, 360, 300, 361, 301, 359, 362, 360}))), (Brackets{300, 301}));
  EXPECT_EQ(in_us(reference_without_outliers(all_beside({360, 360, 360, 361, 300}))), (Brackets{300}));
}

TEST(Disturbed, a_quick_one_alone_is_not_what_is_usual) {
  EXPECT_EQ(in_us(without_outliers(all_beside({200, 300, 301, 302, 300}))), (Brackets{300, 301, 302, 300}));
}

TEST(Disturbed, slow_memory_counts_where_most_calls_had_it) {
  CallTimes times;
  for (int i = 0; i < 8; ++i) times.add(300'000, 0, true, i < 6 ? 1.1 : 1.0);
  EXPECT_TRUE(had_slow_memory(times, kSlowShare));
  EXPECT_EQ(without_outliers(times).slowness, times.slowness);
  times.slowness[0] = 1.04;
  EXPECT_FALSE(had_slow_memory(times, kSlowShare));
  EXPECT_TRUE(had_slow_memory(times, kSlowReferenceShare));
  EXPECT_FALSE(had_slow_memory({}, kSlowShare));
}

TEST(Disturbed, what_was_measured_in_the_quiet_stays) {
  CallTimes times = all_beside({300, 301, 302, 400});
  times.during_warm_up[3] = false;
  times.events_ns = {1, 2, 3, 4};
  const CallTimes kept = without_outliers(times);
  EXPECT_EQ(in_us(kept), in_us(times));
  EXPECT_EQ(kept.events_ns, times.events_ns);
  EXPECT_EQ(kept.during_warm_up, times.during_warm_up);
}

TEST(Disturbed, of_none_there_are_none) {
  EXPECT_EQ(without_outliers({}).size(), 0u);
  EXPECT_EQ(reference_without_outliers({}).size(), 0u);
}

}  // namespace
}  // namespace kq::judge
