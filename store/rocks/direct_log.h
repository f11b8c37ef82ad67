// Writes RocksDB's log with O_DIRECT, past the page cache, if the file system supports it (direct_file.h): no process
// reads a log while it is written.
//
// The log ends with zeros up to a whole block, like a log with preallocated space (preallocation.h). A log that is
// closed in order is truncated to its length.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>

namespace kq::store {

// Files that end in .log are written so; all others are those of `files`, as is every other operation.
std::shared_ptr<rocksdb::FileSystem> with_direct_logs(const std::shared_ptr<rocksdb::FileSystem>& files);

}  // namespace kq::store
