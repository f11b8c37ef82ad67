// Reading a store beside the process that writes it.
//
// RocksDB opens a store for reading as if nobody wrote: it reads the MANIFEST, lists the logs, reads one after the
// other. Meanwhile
// - a record is written behind the last one: its first half looks like damage, or like room of which it skips the rest
// of a block, and records
//   with it. So the newest log is looked at once, and read up to the last record that was whole then;
// - the next log is begun. Who lists both finds the older one complete; who lists one ends with it: in either case
// nothing is left out between;
// - families are flushed, and a log is deleted whose records were not yet in the tables of the MANIFEST as it was read:
// they would be missing
//   without a word. So the logs that are there before the MANIFEST is read must still be there when they are listed,
//   and are then held open;
// - tables, blob files and the MANIFEST itself are replaced. What is opened too late is not there.
// The last two end in an error, and the store is opened again (rocks_store.cc). Once it is open its tables are, too,
// and its blob files are held open: whatever the writer takes away, who reads for an hour sees the store as it was.
#pragma once

#include <rocksdb/file_system.h>

#include <cstddef>
#include <memory>

namespace kq::store {

inline constexpr std::size_t kHeldBlobsMax = 4'096;

// The same files for the opening of one store at a time, for reading.
std::shared_ptr<rocksdb::FileSystem> beside_writer(const std::shared_ptr<rocksdb::FileSystem>& files);

}  // namespace kq::store
