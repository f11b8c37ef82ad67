#include "gpu_worker/lane/archive_ahead.h"

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

TEST(ArchiveAhead, is_made_once) {
  ArchiveAhead ahead;
  const auto first = ahead.begin();
  ASSERT_TRUE(first);
  EXPECT_FALSE(ahead.begin()) << "it runs";
  ahead.end(*first);
  EXPECT_FALSE(ahead.begin()) << "it has ended";
}

TEST(ArchiveAhead, a_stop_ends_the_making_that_runs_and_not_the_next_one) {
  ArchiveAhead ahead;
  ahead.stop();
  const auto first = ahead.begin();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->stop_requested());
  ahead.stop();
  EXPECT_TRUE(first->stop_requested());
  EXPECT_FALSE(ahead.begin()) << "its processes may still run";
  ahead.end(*first);
  const auto second = ahead.begin();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->stop_requested());
}

TEST(ArchiveAhead, is_begun_no_more_often_than_the_limit) {
  ArchiveAhead ahead;
  for (std::uint32_t i = 0; i < kArchiveBeginsMax; ++i) {
    const auto begun = ahead.begin();
    ASSERT_TRUE(begun) << i;
    ahead.stop();
    ahead.end(*begun);
  }
  EXPECT_FALSE(ahead.begin());
}

}  // namespace
}  // namespace kq::worker
