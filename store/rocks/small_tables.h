// Small tables, merged. Every start flushes what the log held, and every end in order what the memtables held, so each
// life of a broker leaves a table in each family that it wrote to. Where keys come in their order, RocksDB moves such
// tables down a level and never merges them, since none overlaps another: a broker that is killed every second would
// leave a hundred thousand files in a night, every start opens all of them, and in the end there are too many to open.
#pragma once

#include <rocksdb/db.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kq::store {

inline constexpr std::uint64_t kSmallTableBytes = std::uint64_t{1} << 20;
inline constexpr std::size_t kSmallTablesMax = 8;  // side by side; more are made one

// Merges what lies side by side below level 0, at most kMergedTablesMax tables of a family at a time. What RocksDB is
// at work on itself is left for the next time.
rocksdb::Status merge_small_tables(rocksdb::DB& db, const std::vector<rocksdb::ColumnFamilyHandle*>& families);

inline constexpr std::size_t kMergedTablesMax = 32;  // 32 MB at most: some tenths of a second

}  // namespace kq::store
