#include "store/rocks/settings.h"

#include <gtest/gtest.h>
#include <rocksdb/table.h>

namespace kq::store {
namespace {

// Checks settings whose loss no other test would show: each costs a crash, or a factor of a hundred, only in a store of
// millions of jobs.

TEST(RocksStoreSettings, old_logs_are_never_reused) {
  EXPECT_EQ(db_options("/dev/full", OpenMode::read_write, nullptr).recycle_log_file_num, 0u);
}

TEST(RocksStoreSettings, filters_and_indices_are_not_in_the_block_cache) {
  for (const auto& family : all_families()) {
    const auto* table = family.options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    ASSERT_NE(table, nullptr);
    EXPECT_FALSE(table->cache_index_and_filter_blocks) << family.name;
  }
}

TEST(RocksStoreSettings, the_size_of_all_logs_is_limited) {
  EXPECT_EQ(db_options("/dev/full", OpenMode::read_write, nullptr).max_total_wal_size, kWriteAheadLogBytesMax);
}

TEST(RocksStoreSettings, compressed_values_are_not_compressed_again) {
  const auto families = all_families();
  const auto& blob = families[static_cast<std::size_t>(Family::blob)];
  EXPECT_EQ(blob.name, "blob");
  EXPECT_TRUE(blob.options.enable_blob_files);
  EXPECT_EQ(blob.options.blob_compression_type, rocksdb::kNoCompression);
}

TEST(RocksStoreSettings, families_without_key_order_are_compacted_by_size) {
  for (const auto& family : all_families()) {
    const bool has_no_order = family.name == "ids" || family.name == "blob";
    EXPECT_EQ(family.options.compaction_style == rocksdb::kCompactionStyleUniversal, has_no_order) << family.name;
  }
}

// RocksDB's default would rewrite the live values of the oldest files at every compaction (store/rocks/blob_garbage.h).
TEST(RocksStoreSettings, live_values_in_blob_files_are_not_rewritten) {
  for (const auto& family : all_families()) EXPECT_FALSE(family.options.enable_blob_garbage_collection) << family.name;
}

TEST(RocksStoreSettings, a_reader_creates_nothing) {
  const auto options = db_options("", OpenMode::read_only, nullptr);
  EXPECT_FALSE(options.create_if_missing);
  EXPECT_FALSE(options.create_missing_column_families);
}

}  // namespace
}  // namespace kq::store
