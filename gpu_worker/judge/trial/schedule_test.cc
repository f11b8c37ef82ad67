#include "gpu_worker/judge/trial/schedule.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

Draw from(std::uint64_t seed) {
  return [random = std::mt19937_64(seed)]() mutable { return random(); };
}

TEST(Schedule, warm_calls_come_first_and_all_requested_calls_follow) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto kinds = make_schedule({.correctness = 5, .warmup = 2, .timed = 20}, from(seed));
    EXPECT_EQ(kinds[0], TrialKind::warm);
    EXPECT_EQ(kinds[1], TrialKind::warm);
    EXPECT_EQ(std::ranges::count(kinds, TrialKind::warm), 2);
    EXPECT_EQ(std::ranges::count(kinds, TrialKind::correctness), 5);
    EXPECT_EQ(std::ranges::count(kinds, TrialKind::timed), 20);
    EXPECT_GE(std::ranges::count(kinds, TrialKind::decoy), 1);
    EXPECT_LE(std::ranges::count(kinds, TrialKind::decoy), 1 + 20 / kTimedPerDecoy);
  }
}

TEST(Schedule, neither_order_nor_length_is_predictable) {
  std::set<std::vector<TrialKind>> orders;
  std::set<std::size_t> lengths;
  std::set<TrialKind> first, last;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto kinds = make_schedule({.correctness = 5, .warmup = 0, .timed = 20}, from(seed));
    orders.insert(kinds);
    lengths.insert(kinds.size());
    first.insert(kinds.front());
    last.insert(kinds.back());
  }
  EXPECT_EQ(orders.size(), 200u);
  EXPECT_EQ(lengths.size(), 1 + 20 / kTimedPerDecoy);
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(last.size(), 3u);
}

TEST(Schedule, watched_calls_are_drawn_among_the_correctness_calls) {
  std::set<std::vector<std::uint32_t>> drawn;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto watched = draw_watched(5, from(seed));
    EXPECT_EQ(watched.size(), kWatchedCallsMax);
    EXPECT_LT(watched.back(), 5u);
    drawn.insert(watched);
  }
  EXPECT_EQ(drawn.size(), 10u) << "every pair";
  EXPECT_EQ(draw_watched(1, from(1)), std::vector<std::uint32_t>{0});
  EXPECT_EQ(draw_watched(2, from(1)).size(), 1u) << "a submission must not know that a call is watched";
  EXPECT_TRUE(draw_watched(0, from(1)).empty());
}

TEST(Schedule, nothing_passes_unchecked) {
  EXPECT_EQ(make_schedule({.correctness = 0, .warmup = 0, .timed = 0}, from(1)), std::vector{TrialKind::correctness});
}

TEST(Schedule, without_timed_calls_there_are_no_decoys) {
  EXPECT_EQ(make_schedule({.correctness = 3, .warmup = 1, .timed = 0}, from(1)).size(), 4u);
}

}  // namespace
}  // namespace kq::judge
