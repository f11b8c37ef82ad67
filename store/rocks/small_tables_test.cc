#include "store/rocks/small_tables.h"

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "store/keys.h"
#include "store/rocks/rocks_store.h"
#include "store/temporary_directory.h"

namespace kq::store {
namespace {

// A family of a database in memory.
class SmallTablesTest : public testing::Test {
 protected:
  SmallTablesTest() {
    rocksdb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    options.disable_auto_compactions = true;
    options.compression = rocksdb::kNoCompression;
    rocksdb::DB* db = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, "/db", &db).ok());
    db_.reset(db);
  }

  // Adds a table to level 1, after all existing ones.
  void add(std::size_t value_bytes) {
    ASSERT_TRUE(db_->Put({}, sequence_key(++last_), std::string(value_bytes, 'x')).ok());
    ASSERT_TRUE(db_->Flush({}).ok());
    rocksdb::ColumnFamilyMetaData data;
    db_->GetColumnFamilyMetaData(&data);
    rocksdb::CompactionOptions uncompressed;
    uncompressed.compression = rocksdb::kNoCompression;
    ASSERT_TRUE(db_->CompactFiles(uncompressed, {data.levels[0].files.at(0).name}, 1).ok());
  }
  void add_many(int n, std::size_t value_bytes = 10) {
    for (int i = 0; i < n; ++i) add(value_bytes);
  }
  void merge() { ASSERT_TRUE(merge_small_tables(*db_, {db_->DefaultColumnFamily()}).ok()); }

  std::size_t table_count() const {
    rocksdb::ColumnFamilyMetaData data;
    db_->GetColumnFamilyMetaData(&data);
    return data.file_count;
  }
  void expect_all_keys() const {
    for (Sequence seq = 1; seq <= last_; ++seq) {
      std::string value;
      EXPECT_TRUE(db_->Get({}, sequence_key(seq), &value).ok()) << seq;
    }
  }

  const std::unique_ptr<rocksdb::Env> env_{rocksdb::NewMemEnv(rocksdb::Env::Default())};
  std::unique_ptr<rocksdb::DB> db_;
  Sequence last_ = 0;
};

TEST_F(SmallTablesTest, many_adjacent_small_tables_become_one) {
  add_many(kSmallTablesMax + 1);
  ASSERT_EQ(table_count(), kSmallTablesMax + 1);
  merge();
  EXPECT_EQ(table_count(), 1u);
  expect_all_keys();
}

TEST_F(SmallTablesTest, a_few_small_tables_are_not_merged) {
  add_many(kSmallTablesMax);
  merge();
  EXPECT_EQ(table_count(), kSmallTablesMax);
}

TEST_F(SmallTablesTest, large_tables_are_not_rewritten) {
  add_many(kSmallTablesMax - 1);
  add(kSmallTableBytes + 1);
  add_many(kSmallTablesMax);
  merge();
  EXPECT_EQ(table_count(), 2 * kSmallTablesMax);
  add_many(1);
  merge();
  EXPECT_EQ(table_count(), kSmallTablesMax + 1);  // the tables before the large one are too few to be merged
  expect_all_keys();
}

TEST_F(SmallTablesTest, too_many_tables_for_one_merge_are_merged_in_parts) {
  add_many(kMergedTablesMax + kSmallTablesMax + 1);
  merge();
  EXPECT_EQ(table_count(), 2u);
  expect_all_keys();
}

// Each opening leaves a table, so without merging there are as many tables as openings.
TEST(SmallTablesOfAStore, stay_few_after_many_openings) {
  constexpr Sequence kOpenings = 24;
  const TemporaryDirectory directory;
  for (Sequence seq = 1; seq <= kOpenings; ++seq) {
    const auto store = open_rocks_store(directory.path(), OpenMode::read_write, {.space = {.reserve_bytes = 0}});
    ASSERT_TRUE(store) << store.error().message;
    const Write write{Family::state, sequence_key(seq), "a job"};
    ASSERT_TRUE((*store)->commit({&write, 1}));
  }
  const std::filesystem::directory_iterator files(directory.path());
  const auto table_count =
      std::ranges::count_if(files, [](const auto& file) { return file.path().extension() == ".sst"; });
  EXPECT_LE(table_count, static_cast<std::ptrdiff_t>(2 * kSmallTablesMax));
}

}  // namespace
}  // namespace kq::store
