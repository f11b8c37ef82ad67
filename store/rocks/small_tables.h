// Merges small tables.
//
// Every start of a broker flushes what the log holds, and every orderly end flushes the memtables, so each run leaves a
// table in each family that it wrote to. If keys arrive in their order, RocksDB moves such tables down a level and
// never merges them, because no two overlap. A broker that is killed every second would leave a hundred thousand files
// in a night; every start opens all of them, and in the end there are too many to open.
#pragma once

#include <rocksdb/db.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kq::store {

inline constexpr std::uint64_t kSmallTableBytes = std::uint64_t{1} << 20;
inline constexpr std::size_t kSmallTablesMax = 8;  // adjacent small tables; more are merged into one

// Merges adjacent small tables below level 0, at most kMergedTablesMax tables of a family at a time. Tables that
// RocksDB is working on are left for the next call.
rocksdb::Status merge_small_tables(rocksdb::DB& db, const std::vector<rocksdb::ColumnFamilyHandle*>& families);

inline constexpr std::size_t kMergedTablesMax = 32;  // at most 32 MB, which takes some tenths of a second

}  // namespace kq::store
