#include "broker/standby/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory_store.h"

namespace kq::broker {
namespace {

History history_of(const std::string& text) {
  auto history = History::parse(text);
  EXPECT_TRUE(history);
  return history.value_or(History());
}

TEST(HistoryTest, a_store_keeps_its_epochs) {
  store::MemoryStore store;
  History history;
  ASSERT_TRUE(history.begin(store, 1, 77, "a:/s"));
  ASSERT_TRUE(history.begin(store, 3, 78, "b:/with space"));
  const auto read = History::read(store);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->last(), (Epoch{.number = 3, .position = 0, .tag = 78, .holder = "b:/with space"}));
  EXPECT_EQ(read->text(), history.text());
}

// The epochs 1 and 2 began after the changes 0 and 10; the store is at change 20.
TEST(HistoryTest, a_store_may_follow_if_it_has_no_commit_of_its_own) {
  const History history = history_of("1 0 7 a\n2 10 8 b\n");
  EXPECT_TRUE(history.is_ancestor(2, 8, 20, 20));
  EXPECT_FALSE(history.is_ancestor(2, 8, 21, 20)) << "it is ahead of its epoch";
  EXPECT_TRUE(history.is_ancestor(1, 7, 10, 20));
  EXPECT_FALSE(history.is_ancestor(1, 7, 11, 20)) << "it went on in epoch 1 when epoch 2 had begun";
  EXPECT_FALSE(history.is_ancestor(2, 9, 15, 20)) << "it has another epoch 2";
  EXPECT_FALSE(history.is_ancestor(0, 0, 0, 20)) << "an empty store needs a copy";
}

TEST(HistoryTest, damage_is_reported) {
  for (const char* text : {"x", "1 2\n", "0 0 0 a\n", "2 0 0 a\n1 0 0 a\n"}) EXPECT_FALSE(History::parse(text)) << text;
}

TEST(HistoryTest, old_epochs_are_forgotten) {
  store::MemoryStore store;
  History history;
  for (std::uint64_t number = 1; number <= kEpochsMax + 5; ++number)
    ASSERT_TRUE(history.begin(store, number, number, "a"));
  EXPECT_FALSE(history.is_ancestor(5, 5, 0, 0));
  EXPECT_TRUE(history.is_ancestor(6, 6, 0, 0));
}

}  // namespace
}  // namespace kq::broker
