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
    state.jobs.forget(state.options.queued_kept);
    ASSERT_EQ(broken_invariant(state), std::nullopt);
  }
  std::size_t timers_n() const {
    std::size_t n = 0;
    EXPECT_TRUE(
        store.scan(store::Family::timer, "", "", [&](std::string_view, std::string_view) { return ++n, true; }));
    return n;
  }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
};

TEST_F(TimersTest, knows_the_earliest) {
  submit(1, 9'000, 0, 1'000);
  submit(2, 5'000, 0, 1'000);
  EXPECT_EQ(state.timers.next_ms, 5'000);
  fire(5'000);
  EXPECT_EQ(state.timers.next_ms, 9'000);
  EXPECT_EQ(state.scheduler.size(), 1u);
  fire(9'000);
  EXPECT_EQ(state.timers.next_ms, std::nullopt);
  EXPECT_EQ(timers_n(), 0u);
}

TEST_F(TimersTest, a_tick_fires_so_many_and_the_next_goes_on) {
  const std::size_t n = state.options.timers_per_step_max + 10;
  for (Sequence seq = 1; seq <= n; ++seq) submit(seq, 5'000, 0, 1'000);
  fire(6'000);
  EXPECT_EQ(state.scheduler.size(), state.options.timers_per_step_max);
  EXPECT_EQ(state.timers.next_ms, 5'000);
  fire(6'000);
  EXPECT_EQ(state.scheduler.size(), n);
}

TEST_F(TimersTest, a_job_that_waits_may_expire_first_after_a_failure) {
  submit(1, 5'000, 5'001, 1'000);
  fire(9'000);
  EXPECT_EQ(state.scheduler.size(), 0u) << "both were due: it expired";
  EXPECT_EQ(state.accounts.all().jobs, 0u);
  EXPECT_EQ(timers_n(), 0u);
}

TEST_F(TimersTest, what_expired_in_a_tick_no_longer_waits_in_it) {
  submit(1, 6'000, 5'001, 1'000);  // as after a failure: the pause ends after the deadline
  fire(9'000);
  EXPECT_EQ(state.timers.waiting_n, 0u);
  EXPECT_EQ(state.accounts.all().jobs, 0u);
  EXPECT_EQ(timers_n(), 0u);
}

TEST_F(TimersTest, a_clock_that_went_back_over_a_restart_loses_nothing) {
  submit(1, 9'000, 0, 1'000);
  submit(2, 20'000, 0, 1'000);
  fire(9'000);
  auto again = recovered(store, {}, 500);
  ASSERT_TRUE(again);
  state = std::move(*again);
  EXPECT_EQ(state.timers.waiting_n, 1u);
  submit(3, 700, 0, 500);  // before everything that fired
  fire(700);
  EXPECT_EQ(state.scheduler.size(), 2u);
  fire(20'000);
  EXPECT_EQ(state.scheduler.size(), 3u);
}

TEST_F(TimersTest, a_key_that_is_none_is_damage) {
  submit(1, 9'000, 0, 1'000);
  const store::Write write{store::Family::timer, std::string(8, '\0'), ""};
  ASSERT_TRUE(store.commit(std::span(&write, 1)));
  EXPECT_FALSE(recovered(store, {}, 1'000));
}

}  // namespace
}  // namespace kq::broker
