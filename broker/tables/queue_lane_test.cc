#include "broker/tables/queue_lane.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace kq::broker {
namespace {

Lane::QueuedJob queued_job(Sequence seq, std::uint64_t problem = 0) {
  return {.seq = seq, .problem = problem, .submitted_at_ms = 0};
}

TEST(Lane, is_in_order_of_sequence) {
  Lane lane;
  for (const Sequence seq : {5, 3, 9}) lane.add(queued_job(seq));
  EXPECT_EQ(lane.head()->seq, 3u);
  lane.remove(3);
  EXPECT_EQ(lane.head()->seq, 5u);
  EXPECT_EQ(lane.position(9), 2u);
}

TEST(Lane, searches_only_the_front_for_the_warm_problem) {
  Lane lane;
  for (Sequence seq = 1; seq <= Lane::kWarmWindow; ++seq) lane.add(queued_job(seq, 1));
  lane.add(queued_job(1000, 2));
  EXPECT_EQ(lane.choose({.own = 2}), 1u);
  lane.remove(1);
  EXPECT_EQ(lane.choose({.own = 2}), 1000u);
  EXPECT_EQ(lane.choose({}), 2u);
}

TEST(Lane, a_device_without_its_problem_begins_one_that_no_other_device_has) {
  Lane lane;
  for (Sequence seq = 1; seq <= 6; ++seq) lane.add(queued_job(seq, (seq + 1) / 2));
  std::map<std::uint64_t, std::size_t> device_counts{{1, 1}, {2, 1}};
  EXPECT_EQ(lane.choose({.own = 1, .device_counts = &device_counts}), 1u) << "the warm problem of the device";
  EXPECT_EQ(lane.choose({.own = 2, .device_counts = &device_counts}), 3u);
  EXPECT_EQ(lane.choose({.device_counts = &device_counts}), 5u) << "a problem that is warm nowhere";
  EXPECT_EQ(lane.choose({.own = 9, .device_counts = &device_counts}), 5u);
  device_counts[3] = 1;
  EXPECT_EQ(lane.choose({.device_counts = &device_counts}), 1u) << "every problem is warm elsewhere";
  for (std::uint32_t i = 0; i <= Lane::kOvertakenMax; ++i) {
    device_counts = {{1, 1}};
    const Sequence chosen = lane.choose({.device_counts = &device_counts});
    EXPECT_EQ(chosen == 1, i == Lane::kOvertakenMax);
    lane.remove(chosen);
    if (chosen != 1) lane.add(queued_job(chosen, 2));
  }
}

TEST(Lane, jobs_beyond_the_window_are_counted_and_not_kept) {
  Lane lane;
  const Sequence n = Lane::kWindowMax + 100;
  for (Sequence seq = 1; seq <= n; ++seq) lane.add(queued_job(seq));
  EXPECT_EQ(lane.size(), n);
  EXPECT_EQ(lane.window_end(), Lane::kWindowMax + 1);
  EXPECT_EQ(lane.position(Lane::kWindowMax), Lane::kWindowMax);
  EXPECT_EQ(lane.position(n), n);
  lane.remove(n);
  EXPECT_EQ(lane.size(), n - 1);
}

TEST(Lane, an_old_job_that_is_queued_again_pushes_the_newest_out_of_a_full_window) {
  Lane lane;
  for (Sequence seq = 2; seq <= Lane::kWindowMax + 1; ++seq) lane.add(queued_job(seq));
  lane.add(queued_job(1));
  EXPECT_EQ(lane.head()->seq, 1u);
  EXPECT_EQ(lane.window_end(), Lane::kWindowMax + 1);
}

TEST(Lane, a_job_that_is_queued_again_does_not_hide_the_age_of_others) {
  const auto at = [](Sequence seq, std::int64_t ms) { return Lane::QueuedJob{.seq = seq, .submitted_at_ms = ms}; };
  Lane lane;
  lane.add(at(2, 20));
  lane.add(at(3, 30));
  lane.add(at(1, 500));
  EXPECT_EQ(lane.head()->seq, 1u);
  EXPECT_EQ(lane.head()->submitted_at_ms, 20);
  lane.remove(1);
  lane.remove(2);
  EXPECT_EQ(lane.head()->submitted_at_ms, 30) << "the own age of job 3";

  Lane restored;
  for (const auto& job : {at(1, 500), at(2, 600), at(3, 30), at(4, 40)}) restored.restore(job);
  EXPECT_EQ(restored.head()->submitted_at_ms, 30);
}

// Compares the lane with a simple model: a set of all queued jobs. The "disk" is that set as of the last refill.
TEST(Lane, hands_out_every_job_once_and_in_order_whatever_happens) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Lane lane;
    std::set<Sequence> queued, gone;
    Sequence next = 1;
    for (int step = 0; step < 3'000; ++step) {
      switch (random() % 8) {
        case 0:
          for (unsigned i = 0; i < random() % 400; ++i) {
            queued.insert(next);
            lane.add(queued_job(next++));
          }
          break;
        case 1:  // a job is queued again
          if (gone.empty()) break;
          queued.insert(*gone.begin());
          lane.add(queued_job(*gone.begin()));
          gone.erase(gone.begin());
          break;
        case 2: {  // any job is cancelled
          if (queued.empty()) break;
          const auto victim = std::next(queued.begin(), static_cast<long>(random() % queued.size()));
          lane.remove(*victim);
          queued.erase(victim);
          break;
        }
        default:
          for (unsigned i = 0; i < random() % 100 && lane.head() != nullptr; ++i) {
            const Sequence seq = lane.head()->seq;
            ASSERT_EQ(seq, *queued.begin());
            lane.remove(seq);
            queued.erase(seq);
            if (random() % 10 == 0) gone.insert(seq);
          }
      }
      ASSERT_EQ(lane.size(), queued.size());
      if (!lane.needs_refill()) continue;
      std::vector<Lane::QueuedJob> more;
      auto place = queued.lower_bound(lane.window_end());
      for (; place != queued.end() && more.size() < 700; ++place) more.push_back(queued_job(*place));
      lane.refill(more, place == queued.end());
      ASSERT_NE(lane.head(), nullptr);
    }
  }
}

}  // namespace
}  // namespace kq::broker
