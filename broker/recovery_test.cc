#include "broker/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/broker.h"
#include "broker/invariants.h"
#include "broker/script/script.h"
#include "core/limits.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

using testing::HasSubstr;

class RecoveryTest : public testing::Test {
 protected:
  // Submits n jobs, in batches.
  void submit(std::size_t n, const std::string& more = "") {
    for (std::size_t i = 0; i < n; i += kSubmitJobsMax) {
      std::string line = "submit jobs=";
      for (std::size_t j = i; j < std::min(n, i + kSubmitJobsMax); ++j)
        line += (j > i ? ",j" : "j") + std::to_string(next_++);
      script.run(line + more);
    }
  }

  store::MemoryStore store;
  Script script{store};
  std::size_t next_ = 0;
};

TEST_F(RecoveryTest, counts_all_jobs_and_keeps_the_front_of_each_lane) {
  submit(Lane::kWindowMax + 50);
  submit(3, " by=ada");
  submit(2, " by=bob not_before=99000");
  script.run("hello credit=5");
  const auto state = recover_state(store, {}, 2'000'000);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(broken_invariant(*state), std::nullopt);
  EXPECT_EQ(state->queue.jobs().leased_count(), 5u);
  EXPECT_EQ(state->queue.timers().waiting_count(), 2u);
  EXPECT_EQ(state->queue.scheduler().size() + 5, Lane::kWindowMax + 53);
  EXPECT_EQ(state->next_sequence, Lane::kWindowMax + 56);
  EXPECT_EQ(state->queue.accounts().by_submitter().size(), 3u);
}

TEST_F(RecoveryTest, every_job_of_a_deep_lane_runs_once_and_in_order_across_a_restart) {
  const std::size_t n = 2 * Lane::kWindowMax + 100;
  submit(n);
  std::string text = script.run("hello credit=100");
  for (Sequence seq = 1; seq <= n;) {
    std::string leases;
    for (int i = 0; i < 100 && seq <= n; ++i, ++seq) {
      ASSERT_THAT(text, HasSubstr("queue: job " + std::to_string(seq) + " runs\n"));
      leases += (i > 0 ? "," : "") + std::to_string(seq) + "/1";
    }
    const bool half = seq - 1 == 3'000;
    if (half) script.run("hello credit=0");  // so that no lease is in flight during the restart
    text = script.run("result leases=" + leases);
    if (!half) continue;
    script.run("start");
    text = script.run("hello credit=100");
  }
  EXPECT_EQ(script.run("broker"), "send c broker_reply: 0 queued, 0 leased; w runs 0\n");
}

TEST_F(RecoveryTest, unused_names_are_dropped_and_their_numbers_are_not_given_again) {
  script.run("submit by=ada jobs=a");
  script.run("submit by=bob jobs=b backend=cuda");
  script.run("hello");
  script.run("result leases=1/1");
  auto broker = Broker::recover(store, {}, 2'000'000);
  ASSERT_TRUE(broker);
  const Scheduler& scheduler = broker->state().queue.scheduler();
  EXPECT_EQ(scheduler.submitters.find("ada"), std::nullopt);
  EXPECT_EQ(scheduler.submitters.find("bob"), 1u);
  EXPECT_EQ(scheduler.submitters.next(), 2u);
  EXPECT_EQ(scheduler.classes.size(), 1u);
  auto ready = broker->step(Tick{}, 2'000'000);
  EXPECT_EQ(ready->writes().size(), 2u);
}

TEST_F(RecoveryTest, a_lane_without_a_name_is_damage) {
  const store::Write write{store::Family::queue, store::queue_key({.needs = 3}, 1), store::queue_value({})};
  ASSERT_TRUE(store.commit(std::span(&write, 1)));
  const auto state = recover_state(store, {}, 1'000);
  ASSERT_FALSE(state);
  EXPECT_THAT(state.error().message, HasSubstr("a lane has no name"));
}

}  // namespace
}  // namespace kq::broker
