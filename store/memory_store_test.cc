#include "store/memory_store.h"

#include <gtest/gtest.h>

#include <vector>

namespace kq::store {
namespace {

// store_test.cc tests what this store has in common with the store on disk.

TEST(MemoryStore, after_fail_next_commit_no_commit_writes_anything) {
  MemoryStore store;
  const std::vector<Write> writes = {{Family::state, "a", "1"}, {Family::ids, "b", "2"}};
  store.fail_next_commit("disk full");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(store.commit(writes).error(), (Error{ErrorKind::our_fault, "disk full"}));
    EXPECT_EQ(store.get(Family::state, "a").value(), std::nullopt);
    EXPECT_EQ(store.get(Family::ids, "b").value(), std::nullopt);
  }
}

TEST(MemoryStore, returns_the_space_that_was_set) {
  MemoryStore store;
  EXPECT_FALSE(store.space()->nearly_full);
  store.set_space({.free_bytes = 7, .nearly_full = true});
  EXPECT_EQ(store.space().value(), (Space{.free_bytes = 7, .nearly_full = true}));
}

TEST(MemoryStore, has_no_files_to_copy) {
  EXPECT_EQ(MemoryStore().checkpoint("/x").error(),
            (Error{ErrorKind::bad_input,
                   "no checkpoint at /x: this store has no files; only a store on disk can be copied"}));
}

}  // namespace
}  // namespace kq::store
