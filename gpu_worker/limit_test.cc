#include "gpu_worker/limit.h"

#include <gtest/gtest.h>

namespace kq {
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

}  // namespace
}  // namespace kq
