#include "producer/overview/run_watch.h"

#include <gtest/gtest.h>

#include "producer/overview/testing.h"

namespace kq::producer {
namespace {

class RunWatchTest : public testing::Test {
 protected:
  RunWatchTest() {
    for (const char* label : {"a", "b", "c"}) source_.add("r", label);
    source_.page_rows = 2;
  }
  void read_all(RunWatch& watch) {
    do ASSERT_TRUE(watch.read_page(source_));
    while (watch.is_reading());
  }

  FakeSource source_;
};

TEST_F(RunWatchTest, a_run_is_read_page_by_page) {
  RunWatch watch("r");
  ASSERT_TRUE(watch.read_page(source_));
  EXPECT_TRUE(watch.is_reading());
  EXPECT_FALSE(watch.is_whole());
  EXPECT_EQ(watch.counts().jobs, 2u);
  ASSERT_TRUE(watch.read_page(source_));
  EXPECT_TRUE(watch.is_whole());
  EXPECT_EQ(watch.counts().jobs, 3u);
  EXPECT_EQ(watch.counts().queued, 3u);
  EXPECT_EQ(watch.open_count(), 3u);
}

TEST_F(RunWatchTest, a_finished_job_is_found_by_an_update) {
  RunWatch watch("r");
  read_all(watch);
  source_.finish("r", "a", VerdictName::passed);
  EXPECT_EQ(watch.update(source_).value(), 1u);
  EXPECT_EQ(watch.counts().finished, 1u);
  EXPECT_EQ(watch.counts().verdicts.at(VerdictName::passed), 1u);
  const auto finished = watch.take_newly_finished();
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].label, "a");
  EXPECT_TRUE(watch.take_newly_finished().empty());
}

TEST_F(RunWatchTest, a_second_reading_finds_new_jobs_and_keeps_the_counts_meanwhile) {
  RunWatch watch("r");
  read_all(watch);
  source_.finish("r", "b", VerdictName::wrong_answer);
  source_.add("r", "d");
  ASSERT_TRUE(watch.read_page(source_));
  EXPECT_EQ(watch.counts().jobs, 3u);
  read_all(watch);
  EXPECT_EQ(watch.counts().jobs, 4u);
  EXPECT_EQ(watch.counts().verdicts.at(VerdictName::wrong_answer), 1u);
}

TEST_F(RunWatchTest, the_rate_is_that_of_finished_jobs) {
  RunWatch watch("r");
  read_all(watch);
  EXPECT_EQ(watch.rate_per_s(), std::nullopt);
  watch.mark(1'000);
  source_.finish("r", "a", VerdictName::passed);
  ASSERT_TRUE(watch.update(source_));
  watch.mark(1'500);  // too soon for a point
  EXPECT_EQ(watch.rate_per_s(), std::nullopt);
  watch.mark(6'000);
  EXPECT_DOUBLE_EQ(watch.rate_per_s().value(), 0.2);
}

TEST(RunWatch, failures_are_all_but_right_and_unjudged_jobs) {
  EXPECT_FALSE(is_failure(VerdictName::passed));
  EXPECT_FALSE(is_failure(VerdictName::cancelled));
  EXPECT_TRUE(is_failure(VerdictName::suspect));
  EXPECT_TRUE(is_failure(VerdictName::abandoned));
}

}  // namespace
}  // namespace kq::producer
