#include "broker/ready.h"

#include <gtest/gtest.h>

#include "store/memory_store.h"

namespace kq {
namespace {

TEST(Ready, gives_its_messages_free_once_its_writes_are_committed) {
  MemoryStore store;
  Ready ready;
  ready.write(Family::meta, "key", "value");
  ready.send_to_client("c", 7, Refused{"no"});
  const auto sends = commit(std::move(ready), store);
  ASSERT_TRUE(sends);
  ASSERT_EQ(sends->size(), 1u);
  EXPECT_EQ(std::get<ToClient>(sends->front()).message.request_id, 7u);
  EXPECT_EQ(**store.get(Family::meta, "key"), "value");
}

TEST(Ready, keeps_its_messages_when_the_commit_fails) {
  MemoryStore store;
  store.fail_next_commit("disk full");
  Ready ready;
  ready.write(Family::meta, "key", "value");
  ready.send_to_client("c", 7, Refused{"no"});
  const auto sends = commit(std::move(ready), store);
  ASSERT_FALSE(sends);
  EXPECT_EQ(sends.error(), (Error{ExitCode::our_fault, "disk full"}));
}

TEST(Ready, needs_no_commit_for_messages_alone) {
  MemoryStore store;
  store.fail_next_commit("not called");
  Ready ready;
  ready.send_to_worker("w", 0, Unknown{});
  EXPECT_EQ(commit(std::move(ready), store)->size(), 1u);
}

TEST(Ready, merges_in_order_and_wakes_at_the_earliest) {
  Ready turn;
  turn.write(Family::meta, "first", "");
  turn.wake_at(50);
  Ready later;
  later.write(Family::meta, "second", "");
  later.note(NoteLevel::info, "said");
  later.wake_at(30);
  turn.merge(std::move(later));
  ASSERT_EQ(turn.writes().size(), 2u);
  EXPECT_EQ(turn.writes()[1].key, "second");
  EXPECT_EQ(turn.notes().size(), 1u);
  EXPECT_EQ(turn.wake_at_ms(), 30);
}

}  // namespace
}  // namespace kq
