// How RocksDB is set up, each setting with its reason. Seen by the files of rocks_store alone.
#pragma once

#include <rocksdb/db.h>

#include <cstddef>
#include <string>
#include <vector>

#include "store/rocks/rocks_store.h"

namespace kq::store {

inline constexpr std::size_t kMegabyte = std::size_t{1} << 20;

inline constexpr std::size_t kBlockCacheBytes = 128 * kMegabyte;   // of all families together
inline constexpr std::size_t kMemtableBytesMax = 256 * kMegabyte;  // of all families together
inline constexpr std::size_t kWriteAheadLogBytesMax =
    256 * kMegabyte;  // then the families that hold it alive are flushed

// For the store in `dir`. `env` may be null: the machine's own files.
rocksdb::DBOptions db_options(const std::string& dir, OpenMode mode, rocksdb::Env* env);

// One column family per Family, in its order, then the one that RocksDB insists on and kq does not use.
std::vector<rocksdb::ColumnFamilyDescriptor> all_families(bool compacts = true);

}  // namespace kq::store
