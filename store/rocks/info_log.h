// RocksDB's information log, the file LOG in the store's directory. It holds warnings and errors for a person to read.
//
// RocksDB's own writer of this log cannot be used: Debian builds the library with assertions, and on a full disk the
// second line that cannot be written aborts the process. Here a line that cannot be written is dropped.
#pragma once

#include <rocksdb/env.h>

#include <memory>
#include <string>

namespace kq::store {

// Beyond this size a new log begins, and the previous one is kept as LOG.old.
inline constexpr std::size_t kInfoLogBytesMax = std::size_t{1} << 20;

// Opens a new log in `dir` and keeps the previous one as LOG.old.
std::shared_ptr<rocksdb::Logger> open_info_log(const std::string& dir);

}  // namespace kq::store
