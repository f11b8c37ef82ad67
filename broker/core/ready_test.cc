#include "broker/core/ready.h"

#include <gtest/gtest.h>

#include "store/memory_store.h"

namespace kq::broker {
namespace {

TEST(Ready, returns_its_messages_after_its_writes_are_committed) {
  store::MemoryStore store;
  Ready ready;
  ready.write(store::Family::meta, "key", "value");
  ready.send_to_client("c", 7, Refused{"no"});
  const auto sends = commit(std::move(ready), store);
  ASSERT_TRUE(sends);
  ASSERT_EQ(sends->size(), 1u);
  EXPECT_EQ(std::get<ToClient>(sends->front()).message.request_id, 7u);
  EXPECT_EQ(**store.get(store::Family::meta, "key"), "value");
}

TEST(Ready, keeps_its_messages_when_the_commit_fails) {
  store::MemoryStore store;
  store.fail_next_commit("disk full");
  Ready ready;
  ready.write(store::Family::meta, "key", "value");
  ready.send_to_client("c", 7, Refused{"no"});
  const auto sends = commit(std::move(ready), store);
  ASSERT_FALSE(sends);
  EXPECT_EQ(sends.error(), (Error{ErrorKind::our_fault, "disk full"}));
}

TEST(Ready, needs_no_commit_for_messages_alone) {
  store::MemoryStore store;
  store.fail_next_commit("not called");
  Ready ready;
  ready.send_to_worker("w", 0, Unknown{});
  EXPECT_EQ(commit(std::move(ready), store)->size(), 1u);
}

TEST(Ready, merges_in_order_and_wakes_at_the_earliest) {
  Ready turn;
  turn.write(store::Family::meta, "first", "");
  turn.wake_at(50);
  Ready later;
  later.write(store::Family::meta, "second", "");
  later.note(NoteLevel::info, "said");
  later.wake_at(30);
  turn.merge(std::move(later));
  ASSERT_EQ(turn.writes().size(), 2u);
  EXPECT_EQ(turn.writes()[1].key, "second");
  EXPECT_EQ(turn.notes().size(), 1u);
  EXPECT_EQ(turn.wake_at_ms(), 30);
}

TEST(Ready, merges_warnings_of_one_kind_in_a_turn) {
  Ready turn;
  turn.warn("failures of w", "job 1: no disk");
  turn.warn("failures of x", "job 2: no GPU");
  turn.warn("failures of w", "job 3: no disk");
  Ready later;
  later.note(NoteLevel::info, "said");
  for (const char* text : {"job 4: no disk", "job 5: no disk"}) later.warn("failures of w", text);
  later.warn("failures of y", "job 6: no GPU");
  turn.merge(std::move(later));
  turn.warn("failures of y", "job 7: no GPU");
  std::string warnings;
  std::string others;
  for (const Note& note : turn.notes()) (note.level == NoteLevel::warning ? warnings : others) += note.text + "\n";
  EXPECT_EQ(warnings,
            "job 1: no disk (and 3 more failures of w)\njob 2: no GPU\njob 6: no GPU (and 1 more failures of y)\n");
  EXPECT_EQ(others, "job 3: no disk\nsaid\njob 4: no disk\njob 5: no disk\njob 7: no GPU\n");
}

}  // namespace
}  // namespace kq::broker
