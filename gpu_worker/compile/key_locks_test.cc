#include "gpu_worker/compile/key_locks.h"

#include <thread>

#include <gtest/gtest.h>

#include "sys/clock.h"

namespace kq::worker {
namespace {

BuildTime minutes(std::stop_token stop = {}) {
  return {.stop = std::move(stop), .end_ms = sys::monotonic_now_ms() + 600'000, .limit_ms = 600'000};
}

TEST(BuildTime, is_over_with_a_verdict_at_its_end_and_with_an_error_at_a_stop) {
  EXPECT_FALSE(minutes().over());
  const auto ended = BuildTime{.stop = {}, .end_ms = 1, .limit_ms = 1500}.over();
  ASSERT_TRUE(ended && *ended);
  EXPECT_EQ(name_of(**ended), VerdictName::timed_out);
  EXPECT_EQ(evidence_of(**ended)->stage, Stage::build);
  EXPECT_EQ(evidence_of(**ended)->message, "the build took longer than 1500 ms");
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = minutes(stop.get_token()).over();
  ASSERT_TRUE(stopped);
  EXPECT_FALSE(*stopped);
}

TEST(KeyLocks, a_lock_is_waited_for_while_there_is_time) {
  KeyLocks locks;
  std::stop_source stop;
  {
    const KeyLocks::Hold first(locks, sha256("a"), std::try_to_lock);
    EXPECT_FALSE(KeyLocks::Hold(locks, sha256("a"), BuildTime{}).is_held());
    EXPECT_TRUE(KeyLocks::Hold(locks, sha256("b"), BuildTime{}).is_held());
    std::jthread waiter([&] { EXPECT_FALSE(KeyLocks::Hold(locks, sha256("a"), minutes(stop.get_token())).is_held()); });
    stop.request_stop();
  }
  EXPECT_TRUE(KeyLocks::Hold(locks, sha256("a"), minutes()).is_held());
}

}  // namespace
}  // namespace kq::worker
