// Breaks each invariant once, to prove that the check finds it.
#include "broker/invariants.h"

#include <gtest/gtest.h>

#include "broker/jobs/lifecycle.h"
#include "broker/testing/queue_access.h"
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
    grant_lease(step, *state.queue.jobs().find(Sequence{2}), *session, 0);
    ASSERT_EQ(broken_invariant(state), std::nullopt);
  }

  QueueTables& tables() { return QueueTestAccess::tables(state); }
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
  tables().jobs.find(Sequence{1})->record.key = sha256("2");
  EXPECT_EQ(broken(), "job 1: its key does not lead to it");
}

TEST_F(InvariantsTest, queued_jobs_are_in_their_lane) {
  tables().scheduler.remove(store::LaneId{.priority = Priority::normal}, 1);
  EXPECT_EQ(broken(), "job 1: it is queued and not in its lane");
}

TEST_F(InvariantsTest, lanes_hold_queued_jobs_only) {
  tables().scheduler.add(store::LaneId{.priority = Priority::normal}, {.seq = 2});
  EXPECT_EQ(broken(), "job 2: it is in a lane and not queued");
}

TEST_F(InvariantsTest, accounts_count_every_unfinished_job) {
  tables().accounts.add(store::LaneId{}, 1);
  EXPECT_EQ(broken(), "the accounts count a wrong number of jobs");
}

TEST_F(InvariantsTest, leases_have_a_deadline) {
  tables().jobs.find(Sequence{2})->lease->deadline_ms += 1;
  EXPECT_EQ(broken(), "job 2: its lease has no deadline in the table");
}

TEST_F(InvariantsTest, sessions_of_leases_exist) {
  state.workers.remove(session->id);
  EXPECT_EQ(broken(), "job 2: its lease names a session that does not exist");
}

TEST_F(InvariantsTest, sessions_list_their_leases) {
  session->leases.clear();
  EXPECT_EQ(broken(), "job 2: the session of its lease does not list it");
}

TEST_F(InvariantsTest, sessions_list_no_other_leases) {
  session->leases.insert(1);
  EXPECT_EQ(broken(), "worker w: it lists job 1, whose lease is not its own");
}

TEST_F(InvariantsTest, failures_are_limited) {
  tables().jobs.find(Sequence{1})->record.failures = kAttemptsMax;
  EXPECT_EQ(broken(), "job 1: it is unfinished and has no attempts left");
}

}  // namespace
}  // namespace kq::broker
