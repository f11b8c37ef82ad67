#include "tests/faults/failing_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace kq::faults {
namespace {

namespace fs = std::filesystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr std::uint64_t kSectorBytes = 512;

IOStatus answer(Fault fault) {
  switch (fault) {
    case Fault::power_off:
      return IOStatus::IOError("the power is off");
    case Fault::failing_sync:
      return IOStatus::IOError("the sync failed");
    case Fault::no_space:
    case Fault::short_write:
      return IOStatus::NoSpace("no space left on device");
  }
  return IOStatus::OK();
}

ino_t inode_of(const fs::path& path) {
  struct stat file = {};
  KQ_CHECK(stat(path.c_str(), &file) == 0);
  return file.st_ino;
}

}  // namespace

class FailingFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FailingFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, FailingDisk& disk, ino_t number)
      : FSWritableFileOwnerWrapper(std::move(file)), inode(number), disk_(disk) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions&, IODebugContext*) override {
    return disk_.append(*this, data);
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions&, const rocksdb::DataVerificationInfo&,
                  IODebugContext*) override {
    return disk_.append(*this, data);
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return disk_.sync(*this); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return disk_.sync(*this); }
  IOStatus RangeSync(std::uint64_t, std::uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }
  // Allocation ahead of the data has no effect on what this disk simulates.
  void PrepareWrite(std::size_t, std::size_t, const IOOptions&, IODebugContext*) override {}
  // RocksDB cuts a file to its length before closing it, which returns blocks that were allocated ahead. PrepareWrite()
  // allocates none here.
  IOStatus Truncate(std::uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }

  IOStatus really_append(const rocksdb::Slice& data) { return target()->Append(data, {}, nullptr); }

  const ino_t inode;

 private:
  FailingDisk& disk_;
};

class FailingDirectory final : public rocksdb::FSDirectory {
 public:
  explicit FailingDirectory(FailingDisk& disk) : disk_(disk) {}
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return disk_.sync_names(); }

 private:
  FailingDisk& disk_;
};

FailingDisk::FailingDisk(fs::path dir)
    : FileSystemWrapper(rocksdb::FileSystem::Default()), dir_(std::move(dir)), kept_dir_(dir_.string() + ".kept") {
  fs::create_directories(kept_dir_);
}

FailingDisk::~FailingDisk() {
  std::error_code ignored;
  fs::remove_all(kept_dir_, ignored);
}

void FailingDisk::plan(Fault fault, std::uint64_t operation_count) {
  const std::lock_guard lock(mutex_);
  planned_ = fault;
  operations_left_ = operation_count;
  met_ = false;
}

std::optional<Fault> FailingDisk::meet(Operation operation) {
  if (off_) return Fault::power_off;
  if (operations_left_ > 0) --operations_left_;
  if (!planned_ || operations_left_ > 0) return std::nullopt;
  const bool fits = *planned_ == Fault::power_off ||
                    (*planned_ == Fault::failing_sync ? operation == Operation::sync : operation == Operation::append);
  if (!fits) return std::nullopt;
  met_ = true;
  off_ = *planned_ == Fault::power_off;
  return std::exchange(planned_, std::nullopt);
}

// ---- bytes ----------------------------------------------------------------------------------------------------------

IOStatus FailingDisk::append(FailingFile& file, const rocksdb::Slice& data) {
  const std::lock_guard lock(mutex_);
  const bool was_off = off_;
  const auto fault = meet(Operation::append);
  // A write during which the power goes off, and a short write, write half of their data.
  std::size_t bytes = data.size();
  if (fault) bytes = was_off || *fault == Fault::no_space ? 0 : data.size() / 2;
  if (bytes > 0) {
    const IOStatus appended = file.really_append({data.data(), bytes});
    if (!appended.ok()) return appended;
    bytes_[file.inode].written += bytes;
  }
  return fault ? answer(*fault) : IOStatus::OK();
}

IOStatus FailingDisk::sync(FailingFile& file) {
  const std::lock_guard lock(mutex_);
  if (const auto fault = meet(Operation::sync)) return answer(*fault);
  if (ignores_syncs_) return IOStatus::OK();
  Bytes& bytes = bytes_[file.inode];
  bytes.synced = bytes.written;
  // On ext4, XFS and btrfs the sync of a new file also syncs its name.
  std::erase_if(changes_, [&](const NameChange& change) {
    return change.kind == NameChange::Kind::created && fs::exists(change.from) && inode_of(change.from) == file.inode;
  });
  return IOStatus::OK();
}

// ---- names ----------------------------------------------------------------------------------------------------------

IOStatus FailingDisk::NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) {
  const std::lock_guard lock(mutex_);
  if (const auto fault = meet(Operation::name)) return answer(*fault);
  const bool is_new = !fs::exists(path);
  std::unique_ptr<rocksdb::FSWritableFile> real;
  const IOStatus made = target()->NewWritableFile(path, options, &real, debug);
  if (!made.ok()) return made;
  if (is_new) changes_.push_back({NameChange::Kind::created, path, "", ""});
  bytes_[inode_of(path)] = {};
  *file = std::make_unique<FailingFile>(std::move(real), *this, inode_of(path));
  return IOStatus::OK();
}

IOStatus FailingDisk::ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                         std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) {
  const std::lock_guard lock(mutex_);
  if (const auto fault = meet(Operation::name)) return answer(*fault);
  std::unique_ptr<rocksdb::FSWritableFile> real;
  const IOStatus opened = target()->ReopenWritableFile(path, options, &real, debug);
  if (!opened.ok()) return opened;
  const std::uint64_t size = fs::file_size(path);
  bytes_.try_emplace(inode_of(path), Bytes{.written = size, .synced = size});
  *file = std::make_unique<FailingFile>(std::move(real), *this, inode_of(path));
  return IOStatus::OK();
}

IOStatus FailingDisk::NewDirectory(const std::string&, const IOOptions&,
                                   std::unique_ptr<rocksdb::FSDirectory>* directory, IODebugContext*) {
  *directory = std::make_unique<FailingDirectory>(*this);
  return IOStatus::OK();
}

IOStatus FailingDisk::DeleteFile(const std::string& path, const IOOptions& options, IODebugContext* debug) {
  const std::lock_guard lock(mutex_);
  if (const auto fault = meet(Operation::name)) return answer(*fault);
  std::string kept = keep(path);
  const IOStatus removed = target()->DeleteFile(path, options, debug);
  if (removed.ok()) changes_.push_back({NameChange::Kind::removed, path, "", std::move(kept)});
  return removed;
}

IOStatus FailingDisk::RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                                 IODebugContext* debug) {
  const std::lock_guard lock(mutex_);
  if (const auto fault = meet(Operation::name)) return answer(*fault);
  std::string kept = keep(to);
  const IOStatus renamed = target()->RenameFile(from, to, options, debug);
  if (renamed.ok()) changes_.push_back({NameChange::Kind::renamed, from, to, std::move(kept)});
  return renamed;
}

IOStatus FailingDisk::sync_names() {
  const std::lock_guard lock(mutex_);
  if (const auto fault = meet(Operation::sync)) return answer(*fault);
  if (!ignores_syncs_) changes_.clear();
  return IOStatus::OK();
}

std::string FailingDisk::keep(const std::string& path) {
  if (!fs::exists(path)) return "";
  const fs::path kept = kept_dir_ / std::to_string(kept_count_++);
  fs::create_hard_link(path, kept);
  return kept.string();
}

// ---- the power comes back -------------------------------------------------------------------------------------------

void FailingDisk::undo(const NameChange& change) {
  switch (change.kind) {
    case NameChange::Kind::created:
      fs::remove(change.from);
      return;
    case NameChange::Kind::renamed:
      if (!fs::exists(change.to) || fs::exists(change.from)) return;
      fs::rename(change.to, change.from);
      if (!change.kept.empty()) fs::create_hard_link(change.kept, change.to);
      return;
    case NameChange::Kind::removed:
      if (!fs::exists(change.from) && !change.kept.empty()) fs::create_hard_link(change.kept, change.from);
      return;
  }
}

void FailingDisk::tear(const fs::path& path, const Bytes& bytes, std::mt19937_64& random) {
  const std::uint64_t unsynced = bytes.written - bytes.synced;
  const std::uint64_t end = random() % 3 == 0 ? bytes.written : bytes.synced + random() % (unsynced + 1);
  fs::resize_file(path, end);
  if (random() % 2 == 0) return;
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  KQ_CHECK(file >= 0);
  const std::string zeros(kSectorBytes, '\0');
  for (std::uint64_t at = bytes.synced; at < end;) {
    const std::uint64_t next = std::min(end, (at / kSectorBytes + 1) * kSectorBytes);
    if (random() % 2 == 0) {
      KQ_CHECK(pwrite(file, zeros.data(), next - at, static_cast<off_t>(at)) == static_cast<ssize_t>(next - at));
    }
    at = next;
  }
  close(file);
}

void FailingDisk::lose_unsynced(std::mt19937_64& random) {
  const std::lock_guard lock(mutex_);
  for (; !changes_.empty(); changes_.pop_back()) {
    if (random() % 2 == 0) undo(changes_.back());
  }
  for (const auto& entry : fs::directory_iterator(dir_)) {
    const auto written = bytes_.find(inode_of(entry.path()));
    if (written != bytes_.end() && written->second.written > written->second.synced) {
      tear(entry.path(), written->second, random);
    }
  }
  bytes_.clear();
  fs::remove_all(kept_dir_);
  fs::create_directories(kept_dir_);
  planned_.reset();
  off_ = false;
}

}  // namespace kq::faults
