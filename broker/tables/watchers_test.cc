#include "broker/tables/watchers.h"

#include <gtest/gtest.h>

namespace kq::broker {
namespace {

Watcher watcher(const std::string& peer, std::uint64_t request_id, std::vector<Sequence> seqs,
                std::int64_t until_ms = 100) {
  return {.peer = peer, .request_id = request_id, .seqs = std::move(seqs), .until_ms = until_ms};
}

TEST(Watchers, are_due_when_one_of_their_jobs_finishes_or_their_time_is_over) {
  Watchers watchers(8, 8);
  EXPECT_TRUE(watchers.add(watcher("c", 1, {1, 2})));
  EXPECT_TRUE(watchers.add(watcher("d", 1, {2, 3}, 50)));
  EXPECT_TRUE(watchers.take_due(49).empty());
  EXPECT_EQ(watchers.next_ms(), 50);
  watchers.job_finished(1);
  watchers.job_finished(7);
  auto due = watchers.take_due(49);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].peer, "c");
  due = watchers.take_due(50);
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].peer, "d");
  EXPECT_EQ(watchers.next_ms(), std::nullopt);
  watchers.job_finished(2);
  EXPECT_TRUE(watchers.take_due(1'000).empty());
}

TEST(Watchers, a_repeated_request_replaces_the_first) {
  Watchers watchers(1, 8);
  EXPECT_TRUE(watchers.add(watcher("c", 1, {1})));
  EXPECT_TRUE(watchers.add(watcher("c", 1, {1, 2}, 200)));
  EXPECT_EQ(watchers.size(), 1u);
  watchers.job_finished(2);
  EXPECT_EQ(watchers.take_due(0).size(), 1u);
}

TEST(Watchers, are_limited_in_number_and_in_jobs) {
  Watchers watchers(2, 3);
  EXPECT_FALSE(watchers.add(watcher("c", 1, {1, 2, 3, 4})));
  EXPECT_TRUE(watchers.add(watcher("c", 1, {1, 2})));
  EXPECT_FALSE(watchers.add(watcher("c", 2, {3, 4})));
  EXPECT_TRUE(watchers.add(watcher("c", 2, {1})));
  EXPECT_FALSE(watchers.add(watcher("c", 3, {})));
  watchers.drop("c", 1);
  watchers.drop("c", 9);
  EXPECT_TRUE(watchers.add(watcher("c", 3, {3, 4})));
}

TEST(Watchers, a_watcher_that_names_a_job_twice_is_answered_once) {
  Watchers watchers(2, 8);
  EXPECT_TRUE(watchers.add(watcher("c", 1, {1, 1})));
  watchers.job_finished(1);
  EXPECT_EQ(watchers.take_due(0).size(), 1u);
  EXPECT_TRUE(watchers.watched().empty());
}

// A search among all watchers of the job for each removal would take minutes.
TEST(Watchers, are_removed_quickly_from_a_job_that_all_of_them_watch) {
  constexpr std::size_t kWatchers = 64, kJobs = 4'096;
  Watchers watchers(kWatchers, kWatchers * kJobs);
  for (std::size_t i = 0; i < kWatchers; ++i)
    EXPECT_TRUE(watchers.add(watcher("c", i, std::vector<Sequence>(kJobs, 1))));
  EXPECT_EQ(watchers.take_due(100).size(), kWatchers);
}

}  // namespace
}  // namespace kq::broker
