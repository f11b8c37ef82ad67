// Preallocates space in the write-ahead log, so that a small commit is synced sooner.
//
// A log that grows with each commit makes each sync also write the length of the file, which is a second write to the
// disk. Therefore zeros are written ahead, a megabyte at a time, and most commits overwrite them. After a crash,
// readers take zeros for the end of the log (wal_tail.h). A log that is closed in order is truncated to its length.
// Long commits are not preallocated, because they gain nothing.
//
// A record that a dying process wrote in part is followed by zeros, so RocksDB does not see that it is the last one. A
// process that opens the store for writing cuts the record off; a reader stops before it (secondary.h).
#pragma once

#include <rocksdb/file_system.h>

#include <cstddef>
#include <memory>

namespace kq::store {

inline constexpr std::size_t kLogRoomBytes = std::size_t{1} << 20;

// The same files; those whose names end in ".log" are written with room ahead.
std::shared_ptr<rocksdb::FileSystem> with_log_room(const std::shared_ptr<rocksdb::FileSystem>& files);

}  // namespace kq::store
