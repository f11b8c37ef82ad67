// RocksDB's information log: the file LOG beside the store's own files, for a person, from warnings upwards.
//
// RocksDB's own writer of it cannot be used: Debian builds the library with assertions on, and on a full disk the
// second line that cannot be written aborts the process. Here a line that cannot be written is lost, and that is all.
#pragma once

#include <rocksdb/env.h>

#include <memory>
#include <string>

namespace kq::store {

inline constexpr std::size_t kInfoLogBytesMax =
    std::size_t{1} << 20;  // then it begins anew; the log before this one is kept as LOG.old

std::shared_ptr<rocksdb::Logger> open_info_log(const std::string& dir);

}  // namespace kq::store
