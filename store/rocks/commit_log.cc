#include "store/rocks/commit_log.h"

#include <rocksdb/write_batch.h>

#include <utility>

namespace kq::store {
namespace {

tl::unexpected<Error> failed(const std::string& dir, const std::string& what, const rocksdb::Status& status) {
  return our_fault("store at " + dir + ": " + what + " failed: " + status.ToString());
}

}  // namespace

Expected<bool> RocksCommitLog::seek(std::uint64_t first) {
  // The iterator of the last read() stands behind its last commit. It goes on from there until RocksDB begins a new
  // log file.
  if (tail_ && tail_next_ == first) {
    tail_->Next();
    if (tail_->Valid()) return true;
  }
  tail_.reset();
  const rocksdb::Status status = db_.GetUpdatesSince(first, &tail_);
  if (!status.ok() || !tail_->Valid()) {
    tail_.reset();
    return false;
  }
  return true;
}

Expected<LogSlice> RocksCommitLog::read(std::uint64_t after, std::size_t bytes_max) {
  LogSlice slice;
  std::size_t bytes = 0;
  std::uint64_t next = after + 1;
  while (next <= position() && bytes < bytes_max) {
    KQ_TRY_VALUE(const bool found, seek(next));
    rocksdb::BatchResult batch;
    if (found) batch = tail_->GetBatch();
    const std::uint64_t count = found ? static_cast<std::uint64_t>(batch.writeBatchPtr->Count()) : 0;
    if (count == 0 || batch.sequence != next) {
      tail_.reset();
      slice.is_gap = true;
      return slice;
    }
    slice.records.push_back({next, next + count - 1, batch.writeBatchPtr->Data()});
    bytes += slice.records.back().bytes.size();
    next += count;
    tail_next_ = next;
  }
  return slice;
}

Expected<void> RocksCommitLog::append(std::span<const LogRecord> records) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const LogRecord& record = records[i];
    rocksdb::WriteBatch batch(record.bytes);
    if (record.first != position() + 1 || batch.Count() != record.last - record.first + 1)
      return our_fault("store at " + dir_ + " is at change " + std::to_string(position()) + ", got a commit of " +
                       std::to_string(batch.Count()) + " changes that begins at " + std::to_string(record.first));
    rocksdb::WriteOptions options;
    options.sync = i + 1 == records.size();
    const rocksdb::Status status = db_.Write(options, &batch);
    if (!status.ok()) return failed(dir_, "appending to the log", status);
  }
  return {};
}

}  // namespace kq::store
