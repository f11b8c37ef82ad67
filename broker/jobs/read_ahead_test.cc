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
    for (const store::Family family : {store::Family::body, store::Family::state}) lost(family, 3);
    lost(store::Family::body, 2);
    state.emplace(*recovered(store, {}, 2'000));
  }
  // The store keeps the place in the queue only.
  void lost(store::Family family, Sequence seq) {
    const store::Write write{family, store::sequence_key(seq), std::nullopt};
    ASSERT_TRUE(store.commit({&write, 1}));
  }
  bool read(std::size_t jobs_max) {
    Ready ready;
    Step step{*state, ready, 2'000};
    return read_ahead(step, state->scheduler.lanes().begin()->first, jobs_max).has_value();
  }

  store::MemoryStore store;
  Script script{store};
  std::optional<State> state;
};

TEST_F(ReadAheadTest, the_first_jobs_of_a_lane_come_into_ram_with_all_that_they_need) {
  ASSERT_TRUE(read(1));
  ASSERT_TRUE(read(1)) << "once more changes nothing";
  EXPECT_EQ(state->jobs.all().size(), 1u);
  const Job* job = state->jobs.find(Sequence{1});
  ASSERT_NE(job, nullptr);
  ASSERT_NE(job->submission, nullptr);
  EXPECT_EQ(job->submission->label, "a");
  EXPECT_TRUE(state->blobs.has(job->submission->files[0].hash));
  EXPECT_TRUE(state->blobs.has(job->submission->problem.hash));
  EXPECT_EQ(broken_invariant(*state), std::nullopt);
}

TEST_F(ReadAheadTest, what_the_store_has_lost_is_left_to_whoever_leases_it) {
  ASSERT_TRUE(read(64));
  EXPECT_EQ(state->jobs.find(Sequence{2})->submission, nullptr);
  EXPECT_EQ(state->jobs.find(Sequence{3}), nullptr);
  EXPECT_NE(state->jobs.find(Sequence{4})->submission, nullptr);
}

}  // namespace
}  // namespace kq::broker
