#include "store/rocks/blob_garbage.h"

#include <algorithm>

namespace kq::store {

BlobGarbage::~BlobGarbage() {
  is_cancelled_ = true;
  if (thread_.joinable()) thread_.join();
}

void BlobGarbage::update(std::uint64_t spare_bytes) {
  if (is_collecting_) {
    if (spare_bytes == 0) is_cancelled_ = true;
    return;
  }
  std::uint64_t bytes = 0, removed = 0;
  if (!db_.GetIntProperty(family_, rocksdb::DB::Properties::kLiveBlobFileSize, &bytes) ||
      !db_.GetIntProperty(family_, rocksdb::DB::Properties::kLiveBlobFileGarbageSize, &removed)) {
    return;
  }
  if (removed < kGarbageBytesMin || removed < bytes / kGarbageShareMin) return;
  const std::uint64_t live = std::max<std::uint64_t>(bytes - removed, 1), rewritable = spare_bytes / kSparePerLiveByte;
  if (rewritable < live / kFilesShareMin || rewritable == 0) return;
  if (thread_.joinable()) thread_.join();  // the thread's work has ended
  is_collecting_ = true;
  is_cancelled_ = false;
  const double share = std::min(1.0, static_cast<double>(rewritable) / static_cast<double>(live));
  thread_ = std::thread([this, share] { collect(share); });
}

// An error is not reported here: RocksDB accepts no commit after it, so the next commit reports it.
void BlobGarbage::collect(double share) {
  rocksdb::CompactRangeOptions options;
  // Most references to old blob files are in the bottommost level.
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  options.blob_garbage_collection_policy = rocksdb::BlobGarbageCollectionPolicy::kForce;
  options.blob_garbage_collection_age_cutoff = share;
  options.canceled = &is_cancelled_;
  (void)db_.CompactRange(options, family_, nullptr, nullptr);
  is_collecting_ = false;
}

}  // namespace kq::store
