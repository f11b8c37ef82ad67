// A memtable for RocksDB that keeps its keys in sorted leaves of 64 entries instead of a skip list of single nodes.
//
// A commit of kq has many small keys, and most are neighbours of the key before. Such a key is inserted next to its
// neighbour without a search. For keys that are hashes, a search reads one leaf and compares eight bytes of each key:
// the first bytes in which the keys differ, stored side by side. In a skip list each of about twenty comparisons waits
// for another place in memory. The memtable supports one writer, and readers only once it is no longer written.
#pragma once

#include <rocksdb/memtablerep.h>

#include <memory>

namespace kq::store {

// Returns a factory for DBOptions or ColumnFamilyOptions::memtable_factory.
std::shared_ptr<rocksdb::MemTableRepFactory> sorted_leaves();

}  // namespace kq::store
