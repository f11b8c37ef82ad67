#include "store/commit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/keys.h"
#include "store/rocks/rocks_store.h"
#include "store/temporary_directory.h"

namespace kq::store {
namespace {

using testing::HasSubstr;

constexpr std::size_t kSliceBytes = 1u << 20;

class CommitLogTest : public testing::Test {
 protected:
  std::unique_ptr<Store> open(const std::string& name, bool follows = false, std::uint64_t kept_bytes = 64u << 20) {
    RocksStoreOptions options;
    options.space = {.reserve_bytes = 0, .low_bytes = 0};
    options.kept_log_bytes = kept_bytes;
    options.follows = follows;
    auto store = open_rocks_store(path(name), OpenMode::read_write, options);
    EXPECT_TRUE(store) << (store ? "" : store.error().message);
    return std::move(*store);
  }
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }

  static void put(Store& store, std::uint64_t number, std::size_t bytes = 10) {
    const std::vector<Write> writes{{Family::state, sequence_key(number), std::string(bytes, 's')},
                                    {Family::blob, sequence_key(number), std::string(bytes, 'b')},
                                    {Family::queue, sequence_key(number), std::nullopt}};
    ASSERT_TRUE(store.commit(writes));
  }

  // Appends everything that `to` lacks. Returns the number of commits.
  static std::size_t follow(Store& from, Store& to) {
    const auto slice = from.commit_log()->read(to.commit_log()->position(), kSliceBytes);
    EXPECT_TRUE(slice && !slice->is_gap);
    EXPECT_TRUE(to.commit_log()->append(slice->records));
    return slice->records.size();
  }

  static std::size_t count(Store& store, Family family) {
    std::size_t count = 0;
    EXPECT_TRUE(store.scan(family, "", "", [&](auto, auto) { return ++count > 0; }));
    return count;
  }

  TemporaryDirectory directory_;
};

TEST_F(CommitLogTest, a_copy_follows_the_log_from_its_checkpoint_on) {
  auto first = open("first");
  put(*first, 1);
  ASSERT_TRUE(first->checkpoint(path("second")));
  auto second = open("second", true);
  EXPECT_EQ(second->commit_log()->position(), first->commit_log()->position());
  for (std::uint64_t number = 2; number < 200; ++number) {
    put(*first, number, 5'000);
    if (number % 3 == 0) {
      EXPECT_EQ(follow(*first, *second), number == 3 ? 2 : 3);
    }
  }
  ASSERT_TRUE(first->drop(Family::state, sequence_key(0), sequence_key(100)));
  follow(*first, *second);
  EXPECT_EQ(second->commit_log()->position(), first->commit_log()->position());
  EXPECT_EQ(count(*second, Family::state), 100);
  EXPECT_EQ(count(*second, Family::blob), 199);
}

TEST_F(CommitLogTest, restarts_of_both_stores_lose_no_place) {
  auto first = open("first");
  put(*first, 1);
  ASSERT_TRUE(first->checkpoint(path("second")));
  for (std::uint64_t number = 2; number < 8; ++number) {
    put(*first, number);
    first.reset();
    first = open("first");
    auto second = open("second", true);
    if (number % 2 == 0) continue;
    EXPECT_EQ(follow(*first, *second), 2);
  }
  auto second = open("second");
  EXPECT_EQ(count(*second, Family::state), 7);
  EXPECT_EQ(second->commit_log()->position(), first->commit_log()->position());
}

TEST_F(CommitLogTest, a_commit_that_the_log_no_longer_holds_is_a_gap) {
  auto first = open("first", false, 0);
  put(*first, 1);
  const std::uint64_t position = first->commit_log()->position();
  put(*first, 2);
  first.reset();  // flushes everything, so that the log is removed
  first = open("first", false, 0);
  put(*first, 3);
  const auto slice = first->commit_log()->read(position, kSliceBytes);
  ASSERT_TRUE(slice);
  EXPECT_TRUE(slice->is_gap);
}

TEST_F(CommitLogTest, a_commit_that_does_not_follow_is_refused) {
  auto first = open("first");
  put(*first, 1);
  ASSERT_TRUE(first->checkpoint(path("second")));
  put(*first, 2);
  put(*first, 3);
  auto second = open("second", true);
  auto slice = first->commit_log()->read(second->commit_log()->position(), kSliceBytes);
  ASSERT_TRUE(slice);
  const auto refused = second->commit_log()->append(std::span(slice->records).subspan(1));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("got a commit of 3 changes"));
}

TEST_F(CommitLogTest, nothing_is_opened_to_follow_without_a_copy) {
  RocksStoreOptions options;
  options.follows = true;
  const auto store = open_rocks_store(path("none"), OpenMode::read_write, options);
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("there is nothing to follow with"));
}

}  // namespace
}  // namespace kq::store
