#include "broker/tables/queue_lane.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace kq::broker {
namespace {

Lane::Waiting waiting(Sequence seq, std::uint64_t problem = 0) {
  return {.seq = seq, .problem = problem, .submitted_at_ms = 0};
}

TEST(Lane, is_in_order_of_sequence) {
  Lane lane;
  for (const Sequence seq : {5, 3, 9}) lane.add(waiting(seq));
  EXPECT_EQ(lane.head()->seq, 3u);
  lane.remove(3);
  EXPECT_EQ(lane.head()->seq, 5u);
  EXPECT_EQ(lane.position(9), 2u);
}

TEST(Lane, does_not_search_far_for_the_warm_problem) {
  Lane lane;
  for (Sequence seq = 1; seq <= Lane::kWarmWindow; ++seq) lane.add(waiting(seq, 1));
  lane.add(waiting(1000, 2));
  EXPECT_EQ(lane.choose({.own = 2}), 1u);
  lane.remove(1);
  EXPECT_EQ(lane.choose({.own = 2}), 1000u);
  EXPECT_EQ(lane.choose({}), 2u);
}

TEST(Lane, a_device_without_its_problem_begins_one_that_no_other_device_has) {
  Lane lane;
  for (Sequence seq = 1; seq <= 6; ++seq) lane.add(waiting(seq, (seq + 1) / 2));
  std::map<std::uint64_t, std::size_t> devices_n{{1, 1}, {2, 1}};
  EXPECT_EQ(lane.choose({.own = 1, .devices_n = &devices_n}), 1u) << "its own";
  EXPECT_EQ(lane.choose({.own = 2, .devices_n = &devices_n}), 3u);
  EXPECT_EQ(lane.choose({.devices_n = &devices_n}), 5u) << "another";
  EXPECT_EQ(lane.choose({.own = 9, .devices_n = &devices_n}), 5u);
  devices_n[3] = 1;
  EXPECT_EQ(lane.choose({.devices_n = &devices_n}), 1u) << "there is none";
  for (std::uint32_t i = 0; i <= Lane::kPassedByMax; ++i) {
    devices_n = {{1, 1}};
    const Sequence chosen = lane.choose({.devices_n = &devices_n});
    EXPECT_EQ(chosen == 1, i == Lane::kPassedByMax);
    lane.remove(chosen);
    if (chosen != 1) lane.add(waiting(chosen, 2));
  }
}

TEST(Lane, what_is_beyond_the_window_is_counted_and_not_kept) {
  Lane lane;
  const Sequence n = Lane::kWindowMax + 100;
  for (Sequence seq = 1; seq <= n; ++seq) lane.add(waiting(seq));
  EXPECT_EQ(lane.size(), n);
  EXPECT_EQ(lane.window_end(), Lane::kWindowMax + 1);
  EXPECT_EQ(lane.position(Lane::kWindowMax), Lane::kWindowMax);
  EXPECT_EQ(lane.position(n), n);
  lane.remove(n);
  EXPECT_EQ(lane.size(), n - 1);
}

TEST(Lane, an_old_job_that_comes_back_pushes_the_newest_out_of_a_full_window) {
  Lane lane;
  for (Sequence seq = 2; seq <= Lane::kWindowMax + 1; ++seq) lane.add(waiting(seq));
  lane.add(waiting(1));
  EXPECT_EQ(lane.head()->seq, 1u);
  EXPECT_EQ(lane.window_end(), Lane::kWindowMax + 1);
}

TEST(Lane, a_job_that_is_brought_back_hides_nobodys_age) {
  const auto at = [](Sequence seq, std::int64_t ms) { return Lane::Waiting{.seq = seq, .submitted_at_ms = ms}; };
  Lane lane;
  lane.add(at(2, 20));
  lane.add(at(3, 30));
  lane.add(at(1, 500));
  EXPECT_EQ(lane.head()->seq, 1u);
  EXPECT_EQ(lane.head()->submitted_at_ms, 20);
  lane.remove(1);
  lane.remove(2);
  EXPECT_EQ(lane.head()->submitted_at_ms, 30) << "its own";

  Lane restored;
  for (const auto& waiting : {at(1, 500), at(2, 600), at(3, 30), at(4, 40)}) restored.restore(waiting);
  EXPECT_EQ(restored.head()->submitted_at_ms, 30);
}

// The lane against the plainest model: a set of everything that is queued. "Disk" is that set as of the last refill.
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
            lane.add(waiting(next++));
          }
          break;
        case 1:  // one comes back
          if (gone.empty()) break;
          queued.insert(*gone.begin());
          lane.add(waiting(*gone.begin()));
          gone.erase(gone.begin());
          break;
        case 2: {  // any is cancelled
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
      if (!lane.is_hungry()) continue;
      std::vector<Lane::Waiting> more;
      auto place = queued.lower_bound(lane.window_end());
      for (; place != queued.end() && more.size() < 700; ++place) more.push_back(waiting(*place));
      lane.refill(more, place == queued.end());
      ASSERT_NE(lane.head(), nullptr);
    }
  }
}

}  // namespace
}  // namespace kq::broker
