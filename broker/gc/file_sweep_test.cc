// The whole sweep is tested in retention_test.cc and by the simulator.
#include "broker/gc/file_sweep.h"

#include <gtest/gtest.h>

#include "broker/core/step.h"
#include "core/testing/examples.h"
#include "store/keys.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

class FileSweepTest : public testing::Test {
 protected:
  FileSweepTest() {
    for (const char* text : {"a", "b"}) {
      const store::Write write{store::Family::blob, store::hash_key(sha256(text)), text};
      EXPECT_TRUE(store.commit({&write, 1}));
    }
    state.retention.phase = Retention::Phase::files;
    state.retention.named = HashFilter(1, 1);
  }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
  Ready ready;
  Step step{state, ready, 1'000};
};

TEST_F(FileSweepTest, a_submission_during_the_sweep_keeps_its_files) {
  Submission submission = examples::submission();
  submission.files = {{"kernel.py", sha256("a")}};
  state.retention.add_named_files(submission);
  state.blobs.put({.hash = sha256("b"), .bytes = "b"});
  EXPECT_TRUE(remove_unnamed_files(step).value());
  ASSERT_EQ(ready.writes().size(), 1u);
  EXPECT_EQ(ready.writes()[0], (store::Write{store::Family::blob, store::hash_key(sha256("b")), std::nullopt}));
  // The store still shows the file until the commit, so a submission of this turn must bring the file along.
  EXPECT_TRUE(state.retention.removed_files.contains(sha256("b")));
  EXPECT_FALSE(state.blobs.has(sha256("b")));
}

TEST_F(FileSweepTest, the_packed_form_of_a_named_file_is_the_same_file) {
  const store::Write packed{store::Family::blob, store::blob_key(sha256("c"), Packing::lz4), "frame"};
  ASSERT_TRUE(store.commit({&packed, 1}));
  state.retention.named.add(sha256("c"));
  EXPECT_TRUE(remove_unnamed_files(step).value());
  EXPECT_EQ(ready.writes().size(), 2u);
}

TEST_F(FileSweepTest, begins_after_enough_removals_or_enough_time) {
  state.next_sequence = 1'001;
  state.retention.removed_count = 249;
  EXPECT_FALSE(wants_files_swept(state, state.options.file_sweep_interval_ms - 1));
  EXPECT_TRUE(wants_files_swept(state, state.options.file_sweep_interval_ms));
  state.retention.removed_count = 250;
  EXPECT_TRUE(wants_files_swept(state, 1));
  state.retention.removed_count = 0;
  EXPECT_FALSE(wants_files_swept(state, 10 * state.options.file_sweep_interval_ms));
}

}  // namespace
}  // namespace kq::broker
