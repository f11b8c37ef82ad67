// Where RocksDB keeps what is not yet in a table file: in sorted leaves of 64 entries, instead of its own list of
// single nodes.
//
// A commit of kq is many small keys, most of them neighbours of the one before: such a key goes beside it without a
// search. Where keys are hashes a search looks at one leaf, and compares eight bytes of each key, the first ones that
// are not alike in all, which lie there side by side; in the list each of some twenty comparisons waits for another
// place in memory. For one writer, and no reader beside it but of tables that are written no more.
#pragma once

#include <rocksdb/memtablerep.h>

#include <memory>

namespace kq::store {

std::shared_ptr<rocksdb::MemTableRepFactory> sorted_leaves();

}  // namespace kq::store
