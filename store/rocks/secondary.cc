#include "store/rocks/secondary.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "store/rocks/wal_tail.h"

namespace kq::store {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

// A log that is read only up to a given offset, the end of a record.
class TruncatedLog final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  TruncatedLog(std::unique_ptr<rocksdb::FSSequentialFile>&& file, std::uint64_t bytes)
      : FSSequentialFileOwnerWrapper(std::move(file)), left_(bytes) {}

  IOStatus Read(std::size_t bytes, const IOOptions& options, rocksdb::Slice* result, char* scratch,
                IODebugContext* debug) override {
    IOStatus read = target()->Read(std::min<std::uint64_t>(bytes, left_), options, result, scratch, debug);
    if (read.ok()) left_ -= result->size();
    return read;
  }
  IOStatus Skip(std::uint64_t bytes) override {
    const std::uint64_t skipped = std::min(bytes, left_);
    left_ -= skipped;
    return target()->Skip(skipped);
  }

 private:
  std::uint64_t left_;
};

// Compares two file names, which are ascending numbers.
bool is_older(const std::string& a, const std::string& b) {
  return std::tuple(a.size(), a) < std::tuple(b.size(), b);
}

// Returns the names with this ending, the oldest first.
std::vector<std::string> names_ending_in(std::vector<std::string> names, std::string_view ending) {
  std::erase_if(names, [&](const std::string& name) { return !name.ends_with(ending); });
  std::ranges::sort(names, is_older);
  return names;
}

constexpr std::string_view kLog = ".log";
constexpr std::string_view kBlob = ".blob";

// The file system of one store that is opened for reading. It holds the logs and blob files of the opening open.
class SecondaryFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit SecondaryFileSystem(const std::shared_ptr<rocksdb::FileSystem>& files) : FileSystemWrapper(files) {}

  const char* Name() const override { return "kq.SecondaryFileSystem"; }

  IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file, IODebugContext* debug) override {
    const std::filesystem::path place(path);
    const std::string name = place.filename();
    if (name == "CURRENT") are_logs_next_ = false;  // RocksDB reads the MANIFEST next
    if (name.starts_with("MANIFEST-")) {
      are_logs_next_ = true;
      held_.clear();
      IOStatus listed = target()->GetChildren(place.parent_path(), {}, &before_manifest_, debug);
      if (!listed.ok()) return listed;
    }
    if (const auto held = held_.find(name); held != held_.end()) {
      *file = std::move(held->second);
      held_.erase(held);
      return IOStatus::OK();
    }
    return target()->NewSequentialFile(path, options, file, debug);
  }

  // After RocksDB has read the MANIFEST, its first listing is of the logs that it will read.
  IOStatus GetChildren(const std::string& dir, const IOOptions& options, std::vector<std::string>* names,
                       IODebugContext* debug) override {
    held_.clear();
    IOStatus listed = target()->GetChildren(dir, options, names, debug);
    if (!listed.ok() || !std::exchange(are_logs_next_, false)) return listed;
    if (IOStatus held = hold_logs(dir, names_ending_in(*names, kLog), debug); !held.ok()) return held;
    return hold_blobs(dir, names_ending_in(*names, kBlob), debug);
  }

  // RocksDB opens a blob file only when it first reads a value from it.
  IOStatus NewRandomAccessFile(const std::string& path, const rocksdb::FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file, IODebugContext* debug) override {
    {
      const std::lock_guard lock(mutex_);
      const auto blob = blobs_.find(path);
      if (blob != blobs_.end() && blob->second.file) {
        *file = std::move(blob->second.file);
        return IOStatus::OK();
      }
    }
    return target()->NewRandomAccessFile(path, options, file, debug);
  }
  IOStatus GetFileSize(const std::string& path, const IOOptions& options, std::uint64_t* bytes,
                       IODebugContext* debug) override {
    {
      const std::lock_guard lock(mutex_);
      const auto blob = blobs_.find(path);
      if (blob != blobs_.end()) {
        *bytes = blob->second.bytes;
        return IOStatus::OK();
      }
    }
    return target()->GetFileSize(path, options, bytes, debug);
  }

 private:
  struct Blob {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;  // null once RocksDB has taken it
    std::uint64_t bytes = 0;
  };

  IOStatus hold_logs(const std::string& dir, const std::vector<std::string>& logs, IODebugContext* debug) {
    const auto before = names_ending_in(before_manifest_, kLog);
    // If there was no log before, one may have appeared and been deleted.
    if (!std::ranges::includes(logs, before, is_older) || before.empty() != logs.empty()) {
      return IOStatus::IOError(dir, "logs were replaced by the process that writes it while it was opened for reading");
    }
    for (const std::string& name : logs) {
      IOStatus opened = target()->NewSequentialFile(dir + "/" + name, {}, &held_[name], debug);
      if (!opened.ok()) return opened;
    }
    if (logs.empty()) return IOStatus::OK();
    const auto newest = check_wal_tail(dir + "/" + logs.back(), WalCheck::checksums);
    if (!newest) return IOStatus::IOError(newest.error().message);
    auto& file = held_[logs.back()];
    // A damaged log is left as it is, so that RocksDB reports the damage.
    if (newest->tail != WalTail::damaged) file = std::make_unique<TruncatedLog>(std::move(file), newest->good_bytes);
    return IOStatus::OK();
  }

  // Holds the blob files open. Files above kHeldBlobsMax or above the system's limit of open files are opened when
  // needed, if they still exist.
  IOStatus hold_blobs(const std::string& dir, const std::vector<std::string>& names, IODebugContext* debug) {
    const std::lock_guard lock(mutex_);
    blobs_.clear();
    if (!std::ranges::includes(names, names_ending_in(before_manifest_, kBlob), is_older)) {
      return IOStatus::IOError(
          dir, "blob files were replaced by the process that writes it while it was opened for reading");
    }
    for (const std::string& name : names) {
      if (blobs_.size() >= kHeldBlobsMax) break;
      const std::string path = dir + "/" + name;
      Blob blob;
      const bool is_held = target()->NewRandomAccessFile(path, {}, &blob.file, debug).ok() &&
                           target()->GetFileSize(path, {}, &blob.bytes, debug).ok();
      if (is_held) blobs_[path] = std::move(blob);
    }
    return IOStatus::OK();
  }

  std::vector<std::string> before_manifest_;  // names of all files before the MANIFEST was read
  bool are_logs_next_ = false;
  std::map<std::string, std::unique_ptr<rocksdb::FSSequentialFile>> held_;  // logs by name
  std::mutex mutex_;                                                        // the store's readers may be several
  std::map<std::string, Blob> blobs_;                                       // by path
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> secondary_file_system(const std::shared_ptr<rocksdb::FileSystem>& files) {
  return std::make_shared<SecondaryFileSystem>(files);
}

}  // namespace kq::store
