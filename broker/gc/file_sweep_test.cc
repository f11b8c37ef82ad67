// The sweep as a whole is in retention_test.cc and in the simulated worlds.
#include "broker/gc/file_sweep.h"

#include <gtest/gtest.h>

#include "broker/core/state.h"
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
    state.retention.walk = Retention::Walk::files;
    state.retention.named = HashFilter(1, 1);
  }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
  Ready ready;
  Step step{state, ready, 1'000};
};

TEST_F(FileSweepTest, what_is_submitted_meanwhile_keeps_its_files) {
  Submission submission = examples::submission();
  submission.files = {{"kernel.py", sha256("a")}};
  state.retention.name_files(submission);
  state.blobs.put({.hash = sha256("b"), .bytes = "b"});
  EXPECT_TRUE(remove_some_files(step).value());
  ASSERT_EQ(ready.writes().size(), 1u);
  EXPECT_EQ(ready.writes()[0], (store::Write{store::Family::blob, store::hash_key(sha256("b")), std::nullopt}));
  // Until the commit the store still has it: whoever needs it in this turn must send it along.
  EXPECT_TRUE(state.retention.removed_files.contains(sha256("b")));
  EXPECT_FALSE(state.blobs.has(sha256("b")));
}

TEST_F(FileSweepTest, the_packed_form_of_a_named_file_is_the_same_file) {
  const store::Write packed{store::Family::blob, store::blob_key(sha256("c"), Packing::lz4), "frame"};
  ASSERT_TRUE(store.commit({&packed, 1}));
  state.retention.named.add(sha256("c"));
  EXPECT_TRUE(remove_some_files(step).value());
  EXPECT_EQ(ready.writes().size(), 2u);
}

TEST_F(FileSweepTest, waits_until_it_is_worth_its_while) {
  state.next_sequence = 1'001;
  state.retention.removed_n = 249;
  EXPECT_FALSE(wants_files_swept(state, state.options.files_rest_ms - 1));
  EXPECT_TRUE(wants_files_swept(state, state.options.files_rest_ms));
  state.retention.removed_n = 250;
  EXPECT_TRUE(wants_files_swept(state, 1));
  state.retention.removed_n = 0;
  EXPECT_FALSE(wants_files_swept(state, 10 * state.options.files_rest_ms));
}

}  // namespace
}  // namespace kq::broker
