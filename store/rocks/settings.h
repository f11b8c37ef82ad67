// The settings of RocksDB, each with its reason. Only the files of store/rocks include this header.
#pragma once

#include <rocksdb/db.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/rocks/rocks_store.h"

namespace kq::store {

inline constexpr std::size_t kMegabyte = std::size_t{1} << 20;

inline constexpr std::size_t kBlockCacheBytes = 128 * kMegabyte;   // of all families together
inline constexpr std::size_t kMemtableBytesMax = 256 * kMegabyte;  // of all families together
// Beyond this size of all logs, RocksDB flushes the families that need old logs.
inline constexpr std::size_t kWriteAheadLogBytesMax = 256 * kMegabyte;

// Returns the options of the store in `dir`. If `env` is null, the default file system is used. `kept_log_bytes` is
// that of RocksStoreOptions.
rocksdb::DBOptions db_options(const std::string& dir, OpenMode mode, rocksdb::Env* env,
                              std::uint64_t kept_log_bytes = 0);

// Returns one column family per Family, in the order of Family, and then the default family, which RocksDB requires and
// kq does not use.
std::vector<rocksdb::ColumnFamilyDescriptor> all_families(bool compacts = true);

}  // namespace kq::store
