#include "tools/stack/stall_watch.h"

#include <gtest/gtest.h>

namespace kq::tools {
namespace {

producer::Tally tally(std::size_t finished, std::size_t running) {
  producer::Tally tally;
  tally.total = 3;
  tally.finished = finished;
  tally.running = running;
  tally.queued = 3 - finished - running;
  return tally;
}

TEST(stall_watch, asks_after_five_seconds_in_which_no_job_ran_or_finished) {
  StallWatch watch;
  EXPECT_FALSE(watch.is_due(tally(0, 0), 0));
  EXPECT_FALSE(watch.is_due(tally(0, 0), kStallMs - 1));
  EXPECT_TRUE(watch.is_due(tally(0, 0), kStallMs));
  EXPECT_FALSE(watch.is_due(tally(0, 0), kStallMs + 1));
  EXPECT_TRUE(watch.is_due(tally(0, 0), kStallMs + kStallAgainMs));
}

TEST(stall_watch, a_running_or_finished_job_is_a_move) {
  StallWatch watch;
  EXPECT_FALSE(watch.is_due(tally(0, 0), 0));
  EXPECT_FALSE(watch.is_due(tally(0, 1), 60'000));
  EXPECT_FALSE(watch.is_due(tally(0, 0), 60'000 + kStallMs - 1));
  EXPECT_FALSE(watch.is_due(tally(1, 0), 60'000 + kStallMs));
  EXPECT_FALSE(watch.is_due(tally(3, 0), 120'000));
}

TEST(stall_watch, a_reason_whose_numbers_alone_change_is_no_news) {
  StallWatch watch;
  EXPECT_TRUE(watch.is_news("job 7 waits for its turn: 9209 jobs are ahead of it"));
  EXPECT_FALSE(watch.is_news("job 7 waits for its turn: 9100 jobs are ahead of it"));
  EXPECT_TRUE(watch.is_news("job 7 waits for a worker: none is connected"));
}

}  // namespace
}  // namespace kq::tools
