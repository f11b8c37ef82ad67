// Reads ahead in files that are read repeatedly.
//
// If the queue is larger than memory, the jobs that are leased next were written long ago. Their values are in a few
// blob files in the order of their hashes, and are read one page at a time; reading the whole file at once takes less
// than a hundredth of that time. RocksDB tells the kernel that its files are read in random order, so the kernel does
// not read ahead. Therefore each read of a file that has had several reads also asks the kernel for the next part of
// the file. The kernel evicts these pages like any others.
#pragma once

#include <rocksdb/file_system.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace kq::store {

inline constexpr std::uint64_t kReadsBeforeAhead = 128;  // reads of a file before readahead begins
// Bytes requested with one read; a disk needs a millisecond or two for them.
inline constexpr std::uint64_t kAheadBytes = std::uint64_t{2} << 20;

// Returns a file system over `files` whose random-access files are read ahead as described above.
std::shared_ptr<rocksdb::FileSystem> with_reads_ahead(const std::shared_ptr<rocksdb::FileSystem>& files);

}  // namespace kq::store
