// Tests the contract of the Store interface over every implementation.
#include "store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "store/memory_store.h"
#include "store/rocks/rocks_store.h"
#include "store/temporary_directory.h"

namespace kq::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Holds an open store and its directory, if it has one.
struct InMemory {
  std::unique_ptr<Store> store = std::make_unique<MemoryStore>();
};
struct OnDisk {
  TemporaryDirectory directory;
  std::unique_ptr<Store> store =
      open_rocks_store(directory.path(), OpenMode::read_write, {.space = {.reserve_bytes = 0}}).value();
};

template <class Place>
class StoreContract : public testing::Test {
 protected:
  void commit(const std::vector<Write>& writes) { ASSERT_TRUE(store().commit(writes)); }

  std::optional<std::string> get(Family family, std::string_view key) { return store().get(family, key).value(); }

  // Returns the keys of family `state` in [first, end), at most `keys_max`.
  std::vector<std::string> keys(std::string_view first, std::string_view end, std::size_t keys_max = 100) {
    std::vector<std::string> found;
    const auto scanned = store().scan(Family::state, first, end, [&](std::string_view key, std::string_view) {
      found.emplace_back(key);
      return found.size() < keys_max;
    });
    EXPECT_TRUE(scanned);
    return found;
  }

  void commit_keys(const std::vector<std::string>& names) {
    std::vector<Write> writes;
    for (const std::string& name : names) writes.push_back({Family::state, name, "value of " + name});
    commit(writes);
  }

  Store& store() { return *place_.store; }

 private:
  Place place_;
};
using Places = testing::Types<InMemory, OnDisk>;
TYPED_TEST_SUITE(StoreContract, Places);

TYPED_TEST(StoreContract, what_was_never_written_is_nothing) {
  EXPECT_EQ(this->get(Family::state, "key"), std::nullopt);
  EXPECT_THAT(this->keys("", ""), IsEmpty());
}

TYPED_TEST(StoreContract, what_was_written_comes_back) {
  this->commit({{Family::state, "key", "value"}, {Family::state, "empty", ""}});
  EXPECT_EQ(this->get(Family::state, "key"), "value");
  EXPECT_EQ(this->get(Family::state, "empty"), "");
  this->commit({{Family::state, "key", "newer"}});
  EXPECT_EQ(this->get(Family::state, "key"), "newer");
}

TYPED_TEST(StoreContract, a_removed_key_is_gone_and_removing_nothing_is_fine) {
  this->commit({{Family::state, "key", "value"}});
  this->commit({{Family::state, "key", std::nullopt}, {Family::state, "never there", std::nullopt}});
  EXPECT_EQ(this->get(Family::state, "key"), std::nullopt);
  EXPECT_THAT(this->keys("", ""), IsEmpty());
}

TYPED_TEST(StoreContract, writes_of_one_commit_take_effect_in_their_order) {
  this->commit({{Family::state, "put, removed", "1"},
                {Family::state, "put, removed", std::nullopt},
                {Family::state, "removed, put", std::nullopt},
                {Family::state, "removed, put", "1"},
                {Family::state, "put twice", "1"},
                {Family::state, "put twice", "2"}});
  EXPECT_EQ(this->get(Family::state, "put, removed"), std::nullopt);
  EXPECT_EQ(this->get(Family::state, "removed, put"), "1");
  EXPECT_EQ(this->get(Family::state, "put twice"), "2");
}

TYPED_TEST(StoreContract, a_removed_range_takes_its_first_key_and_leaves_its_end) {
  this->commit_keys({"a", "b", "ba", "c", "d"});
  this->commit({{Family::run, "b", "of another family"}});
  this->commit({{.family = Family::state, .key = "b", .value = std::nullopt, .end = "c"}});
  EXPECT_THAT(this->keys("", ""), ElementsAre("a", "c", "d"));
  EXPECT_EQ(this->get(Family::run, "b"), "of another family");
}

TYPED_TEST(StoreContract, a_range_that_ends_where_it_begins_removes_nothing) {
  this->commit_keys({"a", "b"});
  this->commit({{.family = Family::state, .key = "a", .value = std::nullopt, .end = "a"},
                {.family = Family::state, .key = "b", .value = std::nullopt, .end = "a"}});
  EXPECT_THAT(this->keys("", ""), ElementsAre("a", "b"));
}

TYPED_TEST(StoreContract, a_range_and_single_writes_of_one_commit_take_effect_in_their_order) {
  this->commit_keys({"a"});
  this->commit({{Family::state, "b", "before"},
                {.family = Family::state, .key = "a", .value = std::nullopt, .end = "z"},
                {Family::state, "c", "after"}});
  EXPECT_THAT(this->keys("", ""), ElementsAre("c"));
}

TYPED_TEST(StoreContract, many_keys_are_answered_in_the_order_of_the_question) {
  this->commit_keys({"a", "b", "c"});
  const std::vector<std::string> wanted = {"c", "nothing", "a", "c"};
  EXPECT_THAT(this->store().get_many(Family::state, wanted).value(),
              ElementsAre("value of c", std::nullopt, "value of a", "value of c"));
  EXPECT_THAT(this->store().get_many(Family::state, {}).value(), IsEmpty());
}

TYPED_TEST(StoreContract, a_dropped_range_is_gone_and_what_is_written_there_later_stays) {
  this->commit_keys({"a", "b", "c", "d"});
  ASSERT_TRUE(this->store().drop(Family::state, "b", "d"));
  EXPECT_THAT(this->keys("", ""), ElementsAre("a", "d"));
  this->commit_keys({"c"});
  ASSERT_TRUE(this->store().drop(Family::state, "d", "d"));
  EXPECT_THAT(this->keys("", ""), ElementsAre("a", "c", "d"));
}

TYPED_TEST(StoreContract, a_store_knows_its_space) {
  EXPECT_GT(this->store().space().value().free_bytes, 0u);
}

TYPED_TEST(StoreContract, a_commit_of_nothing_is_fine) {
  this->commit({});
}

TYPED_TEST(StoreContract, families_do_not_see_one_another) {
  std::vector<Write> writes;
  for (const std::string_view name : kEnumNames<Family>) {
    writes.push_back({*parse_enum<Family>(name), "key", std::string(name)});
  }
  this->commit(writes);
  for (const std::string_view name : kEnumNames<Family>) EXPECT_EQ(this->get(*parse_enum<Family>(name), "key"), name);
  this->commit({{Family::run, "key", std::nullopt}});
  EXPECT_EQ(this->get(Family::board, "key"), "board");
  EXPECT_THAT(this->keys("", ""), ElementsAre("key"));
}

TYPED_TEST(StoreContract, a_scan_takes_its_first_key_and_leaves_out_its_end) {
  this->commit_keys({"d", "b", "a", "c"});
  EXPECT_THAT(this->keys("", ""), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(this->keys("b", "d"), ElementsAre("b", "c"));
  EXPECT_THAT(this->keys("b", ""), ElementsAre("b", "c", "d"));
  EXPECT_THAT(this->keys("", "b"), ElementsAre("a"));
  EXPECT_THAT(this->keys("aa", "cc"), ElementsAre("b", "c"));
  EXPECT_THAT(this->keys("b", "b"), IsEmpty());
  EXPECT_THAT(this->keys("d", "b"), IsEmpty());
  EXPECT_THAT(this->keys("e", ""), IsEmpty());
}

TYPED_TEST(StoreContract, a_scan_ends_when_its_visitor_has_enough) {
  this->commit_keys({"a", "b", "c"});
  EXPECT_THAT(this->keys("", "", 1), ElementsAre("a"));
  EXPECT_THAT(this->keys("b", "", 1), ElementsAre("b"));
}

TYPED_TEST(StoreContract, a_scan_gives_each_key_with_its_value) {
  this->commit_keys({"a", "b"});
  std::map<std::string, std::string> found;
  ASSERT_TRUE(this->store().scan(Family::state, "", "", [&](std::string_view key, std::string_view value) {
    return found.emplace(key, value).second;
  }));
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"a", "value of a"}, {"b", "value of b"}}));
}

TYPED_TEST(StoreContract, keys_and_values_are_any_bytes_in_unsigned_order) {
  using namespace std::string_literals;
  const std::vector<std::string> names = {""s,     "\0"s,  "\0\0"s,  "\0a"s,   "a"s,     "a\0"s,
                                          "a\0b"s, "a\1"s, "a\x7F"s, "a\x80"s, "a\xFF"s, "\xFF"s};
  this->commit_keys({names.rbegin(), names.rend()});
  EXPECT_EQ(this->keys("", ""), names);
  EXPECT_THAT(this->keys("a\0"s, "a\1"s), ElementsAre("a\0"s, "a\0b"s));
  EXPECT_EQ(this->get(Family::state, "a\0b"s), "value of a\0b"s);
  EXPECT_EQ(this->get(Family::state, "a\0c"s), std::nullopt);
}

TYPED_TEST(StoreContract, large_values_come_back) {
  const std::string value(3 << 20, 'x');
  this->commit({{Family::blob, "blob", value}, {Family::samples, "samples", value}});
  EXPECT_EQ(this->get(Family::blob, "blob"), value);
  EXPECT_EQ(this->get(Family::samples, "samples"), value);
}

// Both implementations hold the same keys after the same random commits.
TEST(StoreTwins, hold_the_same_keys_after_any_commits) {
  InMemory memory;
  OnDisk disk;
  std::mt19937_64 random(1);
  const auto contents = [](const Store& store) {
    std::vector<std::pair<std::string, std::string>> all;
    for (std::size_t family = 2; family < 5; ++family) {
      EXPECT_TRUE(store.scan(static_cast<Family>(family), "", "", [&](std::string_view key, std::string_view value) {
        all.emplace_back(key, value);
        return true;
      }));
    }
    return all;
  };
  for (int round = 0; round < 100; ++round) {
    std::vector<Write> writes(random() % 8);
    const auto any_key = [&] { return std::string(random() % 3, static_cast<char>(random() % 4)); };
    for (Write& write : writes) {
      write.family = static_cast<Family>(2 + random() % 3);
      write.key = any_key();
      if (random() % 3 != 0) write.value = std::to_string(random());
      if (!write.value && random() % 2 == 0) write.end = any_key();
    }
    ASSERT_TRUE(memory.store->commit(writes));
    ASSERT_TRUE(disk.store->commit(writes));
    ASSERT_EQ(contents(*memory.store), contents(*disk.store));
  }
}

}  // namespace
}  // namespace kq::store
