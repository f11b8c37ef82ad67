// Room that removed values leave in blob files, given back. RocksDB removes a blob file once nothing in it lives; what
// still lives in one keeps all of it, as the one problem that every job of a month names keeps that month's first
// files. RocksDB's own collection writes whatever lives in the oldest files anew at each compaction, whether or not
// anything there is dead: in a store that only grows that was half of what compactions cost. So one begins when there
// is something to collect, in a thread of its own, and runs once over the whole family.
#pragma once

#include <rocksdb/db.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace kq::store {

inline constexpr std::uint64_t kGarbageBytesMin = std::uint64_t{32} << 20;  // little is left where it is
inline constexpr std::uint64_t kGarbageShareMin = 2;  // collected is where one in so many bytes is dead, or more
// What lives in the files that are collected is written anew before they go. Of the oldest so many are collected that
// this takes at most one in so many bytes of the disk's room; fewer than one in kFilesShareMin are not worth it.
inline constexpr std::uint64_t kRoomPerLiveByte = 2;
inline constexpr std::uint64_t kFilesShareMin = 20;

class BlobGarbage {
 public:
  // Of a family with blob files. Both outlive this.
  BlobGarbage(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) : db_(db), family_(family) {}
  ~BlobGarbage();  // cuts short what is under way; what is begun and not done leaves nothing
  BlobGarbage(const BlobGarbage&) = delete;
  BlobGarbage& operator=(const BlobGarbage&) = delete;

  // Looks how much is dead, two numbers that RocksDB has, and begins. `room_bytes` may be taken before the disk is
  // nearly full, 0 where it is: then nothing is begun, and what is under way is cut short.
  void look(std::uint64_t room_bytes);

  bool is_collecting() const { return is_collecting_; }

 private:
  void collect(double share);

  rocksdb::DB& db_;
  rocksdb::ColumnFamilyHandle* const family_;
  std::atomic<bool> is_collecting_ = false;
  std::atomic<bool> is_cut_short_ = false;
  std::thread thread_;
};

}  // namespace kq::store
