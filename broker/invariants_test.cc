// Each promise is broken once, to prove that the alarm works.
#include "broker/invariants.h"

#include <gtest/gtest.h>

#include "broker/jobs/lifecycle.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

class InvariantsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(enqueue(step, {.seq = 1, .key = sha256("1"), .last_error = ""}));
    ASSERT_TRUE(enqueue(step, {.seq = 2, .key = sha256("2"), .last_error = ""}));
    state.next_sequence = 3;
    session = &state.workers.insert(
        "w", Hello{.worker = "w", .epoch = 1, .devices = {DeviceInfo{}}, .credit = 1, .evaluator = ""}, 0);
    lease_out(step, *state.jobs.find(Sequence{2}), *session, 0);
    ASSERT_EQ(broken_invariant(state), std::nullopt);
  }

  std::string broken() { return broken_invariant(state).value_or("nothing"); }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
  Ready ready;
  Step step{state, ready, 0};
  Session* session = nullptr;
};

TEST_F(InvariantsTest, sequences_are_below_the_next) {
  state.next_sequence = 2;
  EXPECT_EQ(broken(), "job 2: its sequence is not below next_sequence");
}

TEST_F(InvariantsTest, keys_lead_to_their_jobs) {
  state.jobs.find(Sequence{1})->record.key = sha256("2");
  EXPECT_EQ(broken(), "job 1: its key does not lead to it");
}

TEST_F(InvariantsTest, queued_jobs_are_in_their_lane) {
  state.scheduler.remove(store::LaneId{.priority = Priority::normal}, 1);
  EXPECT_EQ(broken(), "job 1: queued and not in its lane");
}

TEST_F(InvariantsTest, lanes_hold_queued_jobs_only) {
  state.scheduler.add(store::LaneId{.priority = Priority::normal}, {.seq = 2});
  EXPECT_EQ(broken(), "job 2: in a lane and not queued");
}

TEST_F(InvariantsTest, accounts_count_every_unfinished_job) {
  state.accounts.add(store::LaneId{}, 1);
  EXPECT_EQ(broken(), "the accounts count other jobs than there are");
}

TEST_F(InvariantsTest, leases_have_a_tenure_with_an_end) {
  state.jobs.find(Sequence{2})->tenure->deadline_ms += 1;
  EXPECT_EQ(broken(), "job 2: its lease never ends");
}

TEST_F(InvariantsTest, holders_exist) {
  state.workers.remove(session->id);
  EXPECT_EQ(broken(), "job 2: held by a session that is gone");
}

TEST_F(InvariantsTest, holders_know_what_they_hold) {
  session->leases.clear();
  EXPECT_EQ(broken(), "job 2: its holder does not know");
}

TEST_F(InvariantsTest, sessions_count_nothing_else) {
  session->leases.insert(1);
  EXPECT_EQ(broken(), "worker w: counts job 1, which it does not hold");
}

TEST_F(InvariantsTest, failures_end) {
  state.jobs.find(Sequence{1})->record.failures = kAttemptsMax;
  EXPECT_EQ(broken(), "job 1: unfinished with all failures used up");
}

}  // namespace
}  // namespace kq::broker
