// RocksDB's log past the page cache, where the file system can do that (direct_file.h): nobody reads a log while it is
// written.
//
// The log ends with zeros up to a whole block, as one with room ahead does (rocks_store_room.h); closed in order it is
// cut to its length.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>

namespace kq::store {

// Files that end in .log are written so; all others are those of `files`, as is every other operation.
std::shared_ptr<rocksdb::FileSystem> with_direct_logs(const std::shared_ptr<rocksdb::FileSystem>& files);

}  // namespace kq::store
