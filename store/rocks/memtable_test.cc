#include "store/rocks/memtable.h"

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "store/temporary_directory.h"

namespace kq::store {
namespace {

using Rep = rocksdb::MemTableRep;

// RocksDB's order and layout of a key; the table under test reads the layout itself.
struct Version {
  std::string user;
  std::uint64_t tag = 0;

  bool operator<(const Version& other) const { return user != other.user ? user < other.user : tag > other.tag; }
  bool operator==(const Version&) const = default;

  std::string internal() const {
    std::string bytes = user;
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(tag >> shift & 0xFF);
    return bytes;
  }
  std::string entry() const {
    const std::string key = internal();
    std::string bytes;
    std::size_t n = key.size();
    for (; n >= 0x80; n >>= 7) bytes += static_cast<char>(n | 0x80);
    bytes += static_cast<char>(n);
    return bytes + key + "value";
  }
};

class NoComparator final : public Rep::KeyComparator {
 public:
  int operator()(const char*, const char*) const override { return 0; }
  int operator()(const char*, const rocksdb::Slice&) const override { return 0; }
};

class SortedLeavesTest : public ::testing::Test {
 protected:
  void insert(const Version& version) {
    entries.push_back(version.entry());
    table->Insert(entries.back().data());
    expected.insert(version);
  }
  Version at(Rep::Iterator& place) {
    const std::string_view entry(place.key());
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const std::string& kept) { return kept.data() == place.key(); });
    EXPECT_NE(found, entries.end());
    for (const Version& version : expected) {
      if (version.entry() == *found) return version;
    }
    return {};
  }
  // Expects all entries in order, forwards and backwards.
  void expect_order() {
    std::vector<const char*> forwards, backwards;
    const std::unique_ptr<Rep::Iterator> place(table->GetIterator());
    for (place->SeekToFirst(); place->Valid(); place->Next()) forwards.push_back(place->key());
    for (place->SeekToLast(); place->Valid(); place->Prev()) backwards.push_back(place->key());
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_EQ(forwards, backwards);
    ASSERT_EQ(forwards.size(), expected.size());
    auto wanted = expected.begin();
    for (const char* entry : forwards) {
      const std::string bytes = (wanted++)->entry();
      ASSERT_EQ(std::string(entry, bytes.size()), bytes);
    }
  }

  NoComparator comparator;
  std::shared_ptr<rocksdb::MemTableRepFactory> factory = sorted_leaves();
  std::unique_ptr<Rep> table{factory->CreateMemTableRep(comparator, nullptr, nullptr, nullptr)};
  std::deque<std::string> entries;
  std::set<Version> expected;
};

TEST_F(SortedLeavesTest, an_iterator_of_an_empty_table_is_not_valid) {
  const std::unique_ptr<Rep::Iterator> place(table->GetIterator());
  for (const auto seek : {&Rep::Iterator::SeekToFirst, &Rep::Iterator::SeekToLast}) {
    (place.get()->*seek)();
    EXPECT_FALSE(place->Valid());
  }
  place->Seek(Version{"a", 1}.internal(), nullptr);
  EXPECT_FALSE(place->Valid());
  place->SeekForPrev(Version{"a", 1}.internal(), nullptr);
  EXPECT_FALSE(place->Valid());
  EXPECT_FALSE(table->Contains(Version{"a", 1}.entry().c_str()));
}

TEST_F(SortedLeavesTest, newer_versions_come_first_and_prefixes_before_longer_keys) {
  using namespace std::string_literals;
  std::uint64_t tag = 0;
  for (const std::string& user :
       {""s, "b"s, "a"s, "a\0"s, "abcdefgh"s, "abcdefghi"s, "b"s, "\xFF\xFF"s, std::string(300, 'x')})
    insert({user, ++tag});
  expect_order();
}

// The keys of a broker's commits: new keys at the end, and in between new versions of older keys, in order.
TEST_F(SortedLeavesTest, keys_that_arrive_in_order_and_are_written_again_are_in_order) {
  const auto key = [](std::uint64_t n) {
    std::string bytes = "a lane of jobs ";
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(n >> shift & 0xFF);
    return bytes;
  };
  std::uint64_t tag = 0;
  for (std::uint64_t turn = 0; turn < 60; ++turn) {
    for (std::uint64_t i = 0; i < 50; ++i) insert({key(turn * 50 + i), ++tag});
    for (std::uint64_t i = 0; i < 50 && turn > 2; ++i) insert({key((turn - 3) * 50 + i), ++tag});
  }
  expect_order();
}

TEST_F(SortedLeavesTest, random_keys_in_random_order_are_found) {
  std::mt19937_64 random(1);
  std::uint64_t tag = 0;
  for (int i = 0; i < 3'000; ++i) {
    std::string user(random() % 12, '\0');
    for (char& byte : user) byte = static_cast<char>(random() % 3);
    insert({user, ++tag});
  }
  expect_order();
  for (int i = 0; i < 1'000; ++i) {
    Version wanted{.user = std::string(random() % 12, static_cast<char>(random() % 4)), .tag = random() % 3'000};
    const auto after = expected.lower_bound(wanted);
    const std::unique_ptr<Rep::Iterator> place(table->GetIterator());
    place->Seek(wanted.internal(), nullptr);
    ASSERT_EQ(place->Valid(), after != expected.end());
    if (place->Valid()) {
      ASSERT_EQ(std::string(place->key(), after->entry().size()), after->entry());
    }
    const auto above = expected.upper_bound(wanted);
    place->SeekForPrev(wanted.internal(), wanted.entry().c_str());
    ASSERT_EQ(place->Valid(), above != expected.begin());
    if (place->Valid()) {
      const std::string entry = std::prev(above)->entry();
      ASSERT_EQ(std::string(place->key(), entry.size()), entry);
    }
    EXPECT_EQ(table->Contains(wanted.entry().c_str()), expected.contains(wanted));
  }
}

// RocksDB's Get calls GetDynamicPrefixIterator each time and never frees the iterator.
TEST_F(SortedLeavesTest, each_thread_reuses_its_iterator_for_lookups) {
  insert({"a", 1});
  insert({"b", 2});
  Rep::Iterator* const first = table->GetDynamicPrefixIterator(nullptr);
  first->SeekToFirst();
  Rep::Iterator* const second = table->GetDynamicPrefixIterator(nullptr);
  EXPECT_EQ(second, first);
  EXPECT_FALSE(second->Valid());
  second->Seek(Version{"b", 2}.internal(), nullptr);
  ASSERT_TRUE(second->Valid());
  EXPECT_EQ(at(*second), (Version{"b", 2}));
  std::thread([&] { EXPECT_NE(table->GetDynamicPrefixIterator(nullptr), first); }).join();
}

TEST_F(SortedLeavesTest, an_iterator_keeps_its_entry_while_others_are_inserted) {
  for (std::uint64_t i = 0; i < 500; ++i) insert({"k" + std::to_string(100'000 + 2 * i), 1});
  const std::unique_ptr<Rep::Iterator> place(table->GetIterator());
  place->SeekToFirst();
  for (std::uint64_t i = 0; i < 499; ++i) {
    ASSERT_EQ(at(*place).user, "k" + std::to_string(100'000 + 2 * i));
    insert({"k" + std::to_string(100'000 + 2 * i - 1), 1});  // before the current entry
    place->Next();
  }
  expect_order();
}

// ---- as RocksDB uses a memtable: one suite for kq's and for RocksDB's own -------------------------------------------

enum class Kind { sorted_leaves, skip_list };

class AnyMemtable : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.allow_concurrent_memtable_write = false;  // kq's memtable supports one writer
    options.memtable_factory = GetParam() == Kind::sorted_leaves ? sorted_leaves() : options.memtable_factory;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(options, directory_.path() + "/db", &opened).ok());
    db_.reset(opened);
  }
  void put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(db_->Put({}, key, value).ok());
    expected_[key] = value;
  }
  void remove(const std::string& key) {
    ASSERT_TRUE(db_->Delete({}, key).ok());
    expected_.erase(key);
  }
  static std::map<std::string, std::string> content(rocksdb::DB& db, const rocksdb::ReadOptions& options) {
    std::map<std::string, std::string> found;
    const std::unique_ptr<rocksdb::Iterator> place(db.NewIterator(options));
    for (place->SeekToFirst(); place->Valid(); place->Next()) {
      found[place->key().ToString()] = place->value().ToString();
    }
    EXPECT_TRUE(place->status().ok());
    return found;
  }
  static std::string random_key(std::mt19937_64& random) {
    std::string key(random() % 12, '\0');
    for (char& byte : key) byte = static_cast<char>(random() % 3);
    return key;
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<rocksdb::DB> db_;
  std::map<std::string, std::string> expected_;
};

TEST_P(AnyMemtable, holds_what_was_put_last_and_not_what_was_removed) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5'000; ++i) {
    const std::string key = random_key(random);
    if (random() % 4 == 0) {
      remove(key);
    } else {
      put(key, std::to_string(i));
    }
  }
  EXPECT_EQ(content(*db_, {}), expected_);
  for (int i = 0; i < 1'000; ++i) {
    const std::string key = random_key(random);
    std::string value;
    const bool is_found = db_->Get({}, key, &value).ok();
    ASSERT_EQ(is_found, expected_.contains(key));
    if (is_found) {
      EXPECT_EQ(value, expected_[key]);
    }
  }
  ASSERT_TRUE(db_->Flush({}).ok());
  EXPECT_EQ(content(*db_, {}), expected_) << "a table that was written from the memtable";
}

TEST_P(AnyMemtable, seeks_find_the_neighbours_of_a_key) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 2'000; ++i) put(random_key(random), std::to_string(i));
  const std::unique_ptr<rocksdb::Iterator> place(db_->NewIterator({}));
  for (int i = 0; i < 1'000; ++i) {
    const std::string key = random_key(random);
    const auto after = expected_.lower_bound(key);
    place->Seek(key);
    ASSERT_EQ(place->Valid(), after != expected_.end());
    if (place->Valid()) {
      EXPECT_EQ(place->key().ToString(), after->first);
    }
    const auto above = expected_.upper_bound(key);
    place->SeekForPrev(key);
    ASSERT_EQ(place->Valid(), above != expected_.begin());
    if (place->Valid()) {
      EXPECT_EQ(place->key().ToString(), std::prev(above)->first);
    }
  }
}

TEST_P(AnyMemtable, a_snapshot_shows_the_older_versions) {
  for (int i = 0; i < 100; ++i) put(std::to_string(i), "old");
  const auto before = expected_;
  rocksdb::ReadOptions options;
  options.snapshot = db_->GetSnapshot();
  for (int i = 0; i < 200; i += 2) put(std::to_string(i), "new");
  remove("1");
  EXPECT_EQ(content(*db_, options), before);
  EXPECT_EQ(content(*db_, {}), expected_);
  db_->ReleaseSnapshot(options.snapshot);
}

INSTANTIATE_TEST_SUITE_P(Memtables, AnyMemtable, testing::Values(Kind::sorted_leaves, Kind::skip_list),
                         [](const auto& one) {
                           return one.param == Kind::sorted_leaves ? "sorted_leaves" : "skip_list";
                         });

}  // namespace
}  // namespace kq::store
