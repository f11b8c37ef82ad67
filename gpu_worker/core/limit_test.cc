#include "gpu_worker/core/limit.h"

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

TEST(limit, a_submission_may_lower_the_workers_limit_but_not_raise_it) {
  Submission submission;
  EXPECT_EQ(limit_of(submission, 60'000), 60'000);
  submission.time_limit_ms = 1'500;
  EXPECT_EQ(limit_of(submission, 60'000), 1'500);
  submission.time_limit_ms = 90'000;
  EXPECT_EQ(limit_of(submission, 60'000), 60'000);
}

TEST(limit, is_written_in_seconds_if_they_are_whole) {
  EXPECT_EQ(limit_text(120'000), "120 s");
  EXPECT_EQ(limit_text(1'500), "1500 ms");
}

TEST(RunTime, is_one_limit_for_all_attempts) {
  RunTime time(10'000);
  EXPECT_EQ(time.left_ms(500'000), 10'000) << "the first plan has not begun";
  time.begin(1'000);
  EXPECT_EQ(time.left_ms(1'000), 10'000);
  time.begin(7'000);
  EXPECT_EQ(time.left_ms(7'000), 4'000) << "a second attempt has no limit of its own";
  EXPECT_EQ(time.left_ms(11'000), 0);
  EXPECT_EQ(time.left_ms(20'000), 0);
  EXPECT_EQ(time.limit_ms(), 10'000);
}

TEST(RunTime, has_room_for_an_attempt_that_takes_no_longer_than_what_is_left) {
  RunTime time(10'000);
  time.begin(0);
  EXPECT_TRUE(time.has_room(4'000, 6'000));
  EXPECT_FALSE(time.has_room(4'001, 6'000));
  EXPECT_TRUE(time.has_room(10'000 - kAnotherAttemptMs, 0));
  EXPECT_FALSE(time.has_room(10'001 - kAnotherAttemptMs, 0)) << "a child needs that long to start";
}

}  // namespace
}  // namespace kq::worker
