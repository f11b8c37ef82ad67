// Room ahead in the write-ahead log, so that a small commit is synced sooner.
//
// A log that grows with each commit makes each sync write its file's length too: a second write to the disk, behind the
// first. So zeros are written ahead, a megabyte at a time, and most commits write over them. Who reads a log after a
// crash takes zeros for its end (log_ending.h); a log that is closed in order is cut to its length. Long commits need
// none of it: they are as fast without.
//
// A record that a dying process wrote in part has zeros behind it, so that RocksDB no longer sees it end with its file.
// Whoever opens the store to write cuts it off; who only reads it reads it without (rocks_store_beside.h).
#pragma once

#include <rocksdb/file_system.h>

#include <cstddef>
#include <memory>

namespace kq::store {

inline constexpr std::size_t kLogRoomBytes = std::size_t{1} << 20;

// The same files; those whose names end in ".log" are written with room ahead.
std::shared_ptr<rocksdb::FileSystem> with_log_room(const std::shared_ptr<rocksdb::FileSystem>& files);

}  // namespace kq::store
