// A file that is read often is soon read whole. Beside a queue that no memory holds, the jobs that are leased next were
// written long ago, and lie in few blob files in the order of their hashes: a read of a page each, one after the other,
// where one of the whole file takes less than a hundredth. RocksDB tells the kernel that its files are read in no
// order, which then reads nothing ahead. So the next part of a file is asked for with each read, from the time on that
// there were some; the kernel forgets it again as it does everything.
#pragma once

#include <rocksdb/file_system.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kq::store {

inline constexpr std::uint64_t kReadsBeforeAhead = 128;  // of a file
inline constexpr std::uint64_t kAheadBytes = std::uint64_t{2}
                                             << 20;  // asked for with one read: a millisecond or two of a disk

// The same files; those that are read in no order are read ahead as above.
std::shared_ptr<rocksdb::FileSystem> with_reads_ahead(const std::shared_ptr<rocksdb::FileSystem>& files);

}  // namespace kq::store
