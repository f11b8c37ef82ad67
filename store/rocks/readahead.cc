#include "store/rocks/readahead.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

namespace kq::store {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class ReadaheadFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  ReadaheadFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, std::uint64_t bytes)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), bytes_(bytes) {}

  IOStatus Read(std::uint64_t offset, std::size_t n, const IOOptions& options, rocksdb::Slice* result, char* scratch,
                IODebugContext* debug) const override {
    count(1);
    return FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, debug);
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, std::size_t n, const IOOptions& options,
                     IODebugContext* debug) override {
    count(n);
    return FSRandomAccessFileOwnerWrapper::MultiRead(requests, n, options, debug);
  }

 private:
  // Counts reads, and requests the next part of the file if there were enough. Several threads may call it. If the
  // request fails, the bytes are read when they are needed.
  void count(std::size_t reads) const {
    if (requested_bytes_ >= bytes_ || (reads_ += reads) <= kReadsBeforeAhead) return;
    const std::uint64_t from = requested_bytes_.fetch_add(kAheadBytes);
    if (from < bytes_) (void)target()->Prefetch(from, std::min(kAheadBytes, bytes_ - from), {}, nullptr);
  }

  const std::uint64_t bytes_;
  mutable std::atomic<std::uint64_t> reads_ = 0;
  mutable std::atomic<std::uint64_t> requested_bytes_ = 0;
};

class ReadaheadFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit ReadaheadFileSystem(const std::shared_ptr<rocksdb::FileSystem>& files) : FileSystemWrapper(files) {}

  const char* Name() const override { return "kq.FilesReadAhead"; }

  IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file, IODebugContext* debug) override {
    std::uint64_t bytes = 0;
    IOStatus opened = target()->NewRandomAccessFile(path, options, file, debug);
    if (!opened.ok() || !target()->GetFileSize(path, IOOptions(), &bytes, debug).ok()) return opened;
    *file = std::make_unique<ReadaheadFile>(std::move(*file), bytes);
    return opened;
  }
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> with_reads_ahead(const std::shared_ptr<rocksdb::FileSystem>& files) {
  return std::make_shared<ReadaheadFileSystem>(files);
}

}  // namespace kq::store
