#include "broker/jobs/read_ahead.h"

#include <gtest/gtest.h>

#include "broker/invariants.h"
#include "broker/recovery.h"
#include "broker/script/script.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

class ReadAheadTest : public testing::Test {
 protected:
  void SetUp() override {
    script.run("submit jobs=a,b,c,d");
    for (const store::Family family : {store::Family::body, store::Family::state}) lose(family, 3);
    lose(store::Family::body, 2);
    state.emplace(*recover_state(store, {}, 2'000));
  }
  // Erases a record, but not the job's place in the queue.
  void lose(store::Family family, Sequence seq) {
    const store::Write write{family, store::sequence_key(seq), std::nullopt};
    ASSERT_TRUE(store.commit({&write, 1}));
  }
  bool read(std::size_t jobs_max) {
    Ready ready;
    Step step{*state, ready, 2'000};
    return read_ahead(step, state->queue.scheduler().lanes().begin()->first, jobs_max).has_value();
  }

  store::MemoryStore store;
  Script script{store};
  std::optional<State> state;
};

TEST_F(ReadAheadTest, the_first_jobs_of_a_lane_are_read_with_their_files) {
  ASSERT_TRUE(read(1));
  ASSERT_TRUE(read(1)) << "a second call changes nothing";
  EXPECT_EQ(state->queue.jobs().all().size(), 1u);
  const Job* job = state->queue.jobs().find(Sequence{1});
  ASSERT_NE(job, nullptr);
  ASSERT_NE(job->submission, nullptr);
  EXPECT_EQ(job->submission->label, "a");
  EXPECT_TRUE(state->blobs.has(job->submission->files[0].hash));
  EXPECT_TRUE(state->blobs.has(job->submission->problem.hash));
  EXPECT_EQ(broken_invariant(*state), std::nullopt);
}

TEST_F(ReadAheadTest, lost_records_are_skipped) {
  ASSERT_TRUE(read(64));
  EXPECT_EQ(state->queue.jobs().find(Sequence{2})->submission, nullptr);
  EXPECT_EQ(state->queue.jobs().find(Sequence{3}), nullptr);
  EXPECT_NE(state->queue.jobs().find(Sequence{4})->submission, nullptr);
}

}  // namespace
}  // namespace kq::broker
