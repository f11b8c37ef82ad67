#include "gpu_worker/core/limit.h"

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

TEST(limit, a_job_may_ask_for_less_than_its_worker_allows_and_not_for_more) {
  Submission submission;
  EXPECT_EQ(limit_of(submission, 60'000), 60'000);
  submission.time_limit_ms = 1'500;
  EXPECT_EQ(limit_of(submission, 60'000), 1'500);
  submission.time_limit_ms = 90'000;
  EXPECT_EQ(limit_of(submission, 60'000), 60'000);
}

TEST(limit, is_told_in_seconds_where_they_are_whole) {
  EXPECT_EQ(limit_text(120'000), "120 s");
  EXPECT_EQ(limit_text(1'500), "1500 ms");
}

TEST(RunTime, is_one_for_all_that_belongs_to_a_run) {
  RunTime time(10'000);
  EXPECT_EQ(time.left_ms(500'000), 10'000) << "the first plan has not begun";
  time.begin(1'000);
  EXPECT_EQ(time.left_ms(1'000), 10'000);
  time.begin(7'000);
  EXPECT_EQ(time.left_ms(7'000), 4'000) << "a second attempt begins no time of its own";
  EXPECT_EQ(time.left_ms(11'000), 0);
  EXPECT_EQ(time.left_ms(20'000), 0);
  EXPECT_EQ(time.limit_ms(), 10'000);
}

TEST(RunTime, has_room_for_what_takes_no_longer_than_what_is_left) {
  RunTime time(10'000);
  time.begin(0);
  EXPECT_TRUE(time.has_room(4'000, 6'000));
  EXPECT_FALSE(time.has_room(4'001, 6'000));
  EXPECT_TRUE(time.has_room(10'000 - kAnotherAttemptMs, 0));
  EXPECT_FALSE(time.has_room(10'001 - kAnotherAttemptMs, 0)) << "a child that only begins takes that long";
}

}  // namespace
}  // namespace kq::worker
