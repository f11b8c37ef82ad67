// Frees the space that removed values take in blob files.
//
// RocksDB deletes a blob file when no value in it is live, so one live value keeps the whole file: a file that every
// job of a month names keeps the first blob files of that month. RocksDB's own collection rewrites the live values of
// the oldest files at each compaction, whether or not they hold removed values; in a store that only grows, that is
// half of the cost of compactions. This class starts a collection only when there is something to collect, in a thread
// of its own and once over the whole family.
#pragma once

#include <rocksdb/db.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace kq::store {

inline constexpr std::uint64_t kGarbageBytesMin = std::uint64_t{32}
                                                  << 20;  // a collection starts only for so many removed bytes
// A collection starts if at least one byte in kGarbageShareMin is removed.
inline constexpr std::uint64_t kGarbageShareMin = 2;
// Live values of the collected files are rewritten before the files are deleted. A collection takes so many of the
// oldest files that the rewritten values need at most one byte in kSparePerLiveByte of the free space. It is not
// started for fewer than one file in kFilesShareMin.
inline constexpr std::uint64_t kSparePerLiveByte = 2;
inline constexpr std::uint64_t kFilesShareMin = 20;

// Collects the removed values of one family with blob files.
class BlobGarbage {
 public:
  // `family` must have blob files; `db` and `family` must outlive this object.
  BlobGarbage(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) : db_(db), family_(family) {}
  ~BlobGarbage();  // interrupts a running collection, which then leaves no files
  BlobGarbage(const BlobGarbage&) = delete;
  BlobGarbage& operator=(const BlobGarbage&) = delete;

  // Reads from RocksDB how many bytes are removed, and starts a collection if it is worthwhile. `spare_bytes` may be
  // written before the disk is nearly full; 0 means that it is nearly full: then nothing is started and a running
  // collection is interrupted.
  void update(std::uint64_t spare_bytes);

  bool is_collecting() const { return is_collecting_; }

 private:
  void collect(double share);

  rocksdb::DB& db_;
  rocksdb::ColumnFamilyHandle* const family_;
  std::atomic<bool> is_collecting_ = false;
  std::atomic<bool> is_cancelled_ = false;
  std::thread thread_;
};

}  // namespace kq::store
