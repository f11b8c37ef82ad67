// The log of a RocksDB store, read from its write-ahead log.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/transaction_log.h>

#include <memory>
#include <string>

#include "store/commit_log.h"

namespace kq::store {

// Reads commits by GetUpdatesSince, which also reads archived log files, and applies commits of another store as they
// are. The numbers of changes are RocksDB's sequence numbers, so a copy of a store continues at the same position.
class RocksCommitLog final : public CommitLog {
 public:
  // `db` outlives this object; `dir` names the store in errors.
  RocksCommitLog(rocksdb::DB& db, std::string dir) : db_(db), dir_(std::move(dir)) {}

  std::uint64_t position() const override { return db_.GetLatestSequenceNumber(); }
  Expected<LogSlice> read(std::uint64_t after, std::size_t bytes_max) override;
  Expected<void> append(std::span<const LogRecord> records) override;
  // Closes the log files that read() has open. Must be called before `db` is closed.
  void close() { tail_.reset(); }

 private:
  // Moves tail_ to the commit that begins with the change `first`. Returns false if the log does not hold it.
  Expected<bool> seek(std::uint64_t first);

  rocksdb::DB& db_;
  const std::string dir_;
  std::unique_ptr<rocksdb::TransactionLogIterator> tail_;  // the place of the last read(), which the next one continues
  std::uint64_t tail_next_ = 0;                            // the number of the change that tail_ returns next
};

}  // namespace kq::store
