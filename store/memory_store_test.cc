#include "store/memory_store.h"

#include <gtest/gtest.h>

#include <vector>

namespace kq {
namespace {

// What it shares with the disk is in store_test.cc.

TEST(MemoryStore, a_commit_told_to_fail_writes_nothing_and_the_next_one_succeeds) {
  MemoryStore store;
  const std::vector<Write> writes = {{Family::state, "a", "1"}, {Family::ids, "b", "2"}};
  store.fail_next_commit("disk full");
  EXPECT_EQ(store.commit(writes).error(), (Error{ExitCode::our_fault, "disk full"}));
  EXPECT_EQ(store.get(Family::state, "a").value(), std::nullopt);
  EXPECT_EQ(store.get(Family::ids, "b").value(), std::nullopt);
  EXPECT_TRUE(store.commit(writes));
  EXPECT_EQ(store.get(Family::state, "a").value(), "1");
}

}  // namespace
}  // namespace kq
