// Opens a store for reading while another process writes it.
//
// Theory of operation. RocksDB opens a store for reading as if no process wrote it: it reads the MANIFEST, lists the
// logs and reads one after the other. Meanwhile the writer changes four things:
// - The writer appends a record. A half-written record looks like damage, or like preallocated space, in which case
//   RocksDB skips the rest of the block and the records in it. Therefore the newest log is checked once and read only
//   up to the last record that was complete at that time.
// - The writer begins a new log. A listing with both logs finds the older one complete; a listing with one log ends
//   with it. In neither case is a record between them left out.
// - The writer flushes families and deletes a log whose records are not yet in the tables of the MANIFEST that was
//   read. These records would be missing silently. Therefore the logs that exist before the MANIFEST is read must still
//   exist when they are listed, and are then held open.
// - The writer replaces tables, blob files and the MANIFEST itself. A file that is opened too late does not exist.
// The last two cases end in an error, and rocks_store.cc opens the store again. An open store has its tables open, and
// its blob files are held open, so that a reader sees the same state for hours, whatever files the writer removes.
#pragma once

#include <rocksdb/file_system.h>

#include <cstddef>
#include <memory>

namespace kq::store {

inline constexpr std::size_t kHeldBlobsMax = 4'096;  // blob files that a reader holds open

// Returns a file system for opening one store at a time for reading.
std::shared_ptr<rocksdb::FileSystem> secondary_file_system(const std::shared_ptr<rocksdb::FileSystem>& files);

}  // namespace kq::store
