// Tests the table together with fire_timers() of jobs/lifecycle.cc.
#include "broker/tables/timers.h"

#include <gtest/gtest.h>

#include "broker/invariants.h"
#include "broker/jobs/lifecycle.h"
#include "broker/recovery.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

class TimersTest : public testing::Test {
 protected:
  void submit(Sequence seq, std::int64_t not_before_ms, std::int64_t deadline_ms, std::int64_t now_ms) {
    state.next_sequence = seq + 1;
    turn(now_ms, [&](Step& step) {
      return enqueue(step, {.seq = seq,
                            .key = sha256(std::to_string(seq)),
                            .last_error = "",
                            .not_before_ms = not_before_ms,
                            .deadline_ms = deadline_ms});
    });
  }
  void fire(std::int64_t now_ms) {
    turn(now_ms, [](Step& step) { return fire_timers(step); });
  }
  void turn(std::int64_t now_ms, const std::function<Expected<void>(Step&)>& act) {
    Ready ready;
    Step step{state, ready, now_ms};
    ASSERT_TRUE(act(step));
    ASSERT_TRUE(commit(std::move(ready), store));
    Ready unused;
    Step next{state, unused, now_ms};
    shrink_job_table(next);
    ASSERT_EQ(broken_invariant(state), std::nullopt);
  }
  std::size_t timer_count() const {
    std::size_t n = 0;
    EXPECT_TRUE(
        store.scan(store::Family::timer, "", "", [&](std::string_view, std::string_view) { return ++n, true; }));
    return n;
  }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
};

TEST_F(TimersTest, knows_the_earliest_time) {
  submit(1, 9'000, 0, 1'000);
  submit(2, 5'000, 0, 1'000);
  EXPECT_EQ(state.queue.timers().next_ms(), 5'000);
  fire(5'000);
  EXPECT_EQ(state.queue.timers().next_ms(), 9'000);
  EXPECT_EQ(state.queue.scheduler().size(), 1u);
  fire(9'000);
  EXPECT_EQ(state.queue.timers().next_ms(), std::nullopt);
  EXPECT_EQ(timer_count(), 0u);
}

TEST_F(TimersTest, a_tick_fires_a_limited_number_and_the_next_continues) {
  const std::size_t n = state.options.timers_per_step_max + 10;
  for (Sequence seq = 1; seq <= n; ++seq) submit(seq, 5'000, 0, 1'000);
  fire(6'000);
  EXPECT_EQ(state.queue.scheduler().size(), state.options.timers_per_step_max);
  EXPECT_EQ(state.queue.timers().next_ms(), 5'000);
  fire(6'000);
  EXPECT_EQ(state.queue.scheduler().size(), n);
}

TEST_F(TimersTest, a_job_whose_deadline_is_also_due_expires) {
  submit(1, 5'000, 5'001, 1'000);
  fire(9'000);
  EXPECT_EQ(state.queue.scheduler().size(), 0u) << "both timers were due";
  EXPECT_EQ(state.queue.accounts().all().jobs, 0u);
  EXPECT_EQ(timer_count(), 0u);
}

TEST_F(TimersTest, a_job_that_expired_no_longer_waits) {
  submit(1, 6'000, 5'001, 1'000);  // as after a failure: the pause ends after the deadline
  fire(9'000);
  EXPECT_EQ(state.queue.timers().waiting_count(), 0u);
  EXPECT_EQ(state.queue.accounts().all().jobs, 0u);
  EXPECT_EQ(timer_count(), 0u);
}

TEST_F(TimersTest, no_timer_is_lost_if_the_clock_goes_back_over_a_restart) {
  submit(1, 9'000, 0, 1'000);
  submit(2, 20'000, 0, 1'000);
  fire(9'000);
  auto again = recover_state(store, {}, 500);
  ASSERT_TRUE(again);
  state = std::move(*again);
  EXPECT_EQ(state.queue.timers().waiting_count(), 1u);
  submit(3, 700, 0, 500);  // before all timers that fired
  fire(700);
  EXPECT_EQ(state.queue.scheduler().size(), 2u);
  fire(20'000);
  EXPECT_EQ(state.queue.scheduler().size(), 3u);
}

TEST_F(TimersTest, an_invalid_key_is_damage) {
  submit(1, 9'000, 0, 1'000);
  const store::Write write{store::Family::timer, std::string(8, '\0'), ""};
  ASSERT_TRUE(store.commit(std::span(&write, 1)));
  EXPECT_FALSE(recover_state(store, {}, 1'000));
}

}  // namespace
}  // namespace kq::broker
