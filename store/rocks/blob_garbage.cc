#include "store/rocks/blob_garbage.h"

#include <algorithm>

namespace kq::store {

BlobGarbage::~BlobGarbage() {
  is_cut_short_ = true;
  if (thread_.joinable()) thread_.join();
}

void BlobGarbage::look(std::uint64_t room_bytes) {
  if (is_collecting_) {
    if (room_bytes == 0) is_cut_short_ = true;
    return;
  }
  std::uint64_t bytes = 0, dead = 0;
  if (!db_.GetIntProperty(family_, rocksdb::DB::Properties::kLiveBlobFileSize, &bytes) ||
      !db_.GetIntProperty(family_, rocksdb::DB::Properties::kLiveBlobFileGarbageSize, &dead)) {
    return;
  }
  if (dead < kGarbageBytesMin || dead < bytes / kGarbageShareMin) return;
  const std::uint64_t live = std::max<std::uint64_t>(bytes - dead, 1), room_for_it = room_bytes / kRoomPerLiveByte;
  if (room_for_it < live / kFilesShareMin || room_for_it == 0) return;
  if (thread_.joinable()) thread_.join();  // the thread's work has ended
  is_collecting_ = true;
  is_cut_short_ = false;
  const double share = std::min(1.0, static_cast<double>(room_for_it) / static_cast<double>(live));
  thread_ = std::thread([this, share] { collect(share); });
}

// An error is not reported here: RocksDB accepts no commit after it, so the next commit reports it.
void BlobGarbage::collect(double share) {
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction =
      rocksdb::BottommostLevelCompaction::kForce;  // most references to old files are there
  options.blob_garbage_collection_policy = rocksdb::BlobGarbageCollectionPolicy::kForce;
  options.blob_garbage_collection_age_cutoff = share;
  options.canceled = &is_cut_short_;
  (void)db_.CompactRange(options, family_, nullptr, nullptr);
  is_collecting_ = false;
}

}  // namespace kq::store
