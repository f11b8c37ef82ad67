// A FileSystem for RocksDB that simulates a power failure and failing operations on real files in one directory.
//
// The disk remembers which bytes and names were synced. When the power goes off, bytes that were not synced may be
// lost: all, those from some offset on, or single sectors of 512 bytes, which are then zeros. A sector is never half
// written. A file that was created, renamed or removed since its directory was last synced may be as before. While the
// power is on, single operations can be made to fail.
#pragma once

#include <rocksdb/file_system.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace kq::faults {

class FailingFile;

enum class Fault { power_off, failing_sync, no_space, short_write };

// Wraps the file system of one store directory. All functions may be called from any thread.
class FailingDisk final : public rocksdb::FileSystemWrapper {
 public:
  explicit FailingDisk(std::filesystem::path dir);
  ~FailingDisk() override;

  // Makes an operation fail after this many more: the next one for power_off, the next sync for failing_sync, and the
  // next append for the other two. After power_off all operations fail. The other faults happen once.
  void plan(Fault fault, std::uint64_t operation_count);
  // From now on syncs report success but sync nothing. A test uses it to prove that the checks find lost commits.
  void ignore_syncs() { ignores_syncs_ = true; }

  // Whether the planned fault has happened.
  bool met_fault() const { return met_; }

  // Loses a random part of the bytes and names that were not synced, and turns the power on again. The caller must have
  // turned the power off and closed the store.
  void lose_unsynced(std::mt19937_64& random);

  const char* Name() const override { return "FailingDisk"; }
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

 private:
  friend class FailingFile;
  friend class FailingDirectory;

  enum class Operation { append, sync, name };
  struct Bytes {
    std::uint64_t written = 0;
    std::uint64_t synced = 0;
  };
  // A change of a name since the directory was last synced. `kept` is a hard link outside the directory to the file
  // that lost its name, or empty.
  struct NameChange {
    enum class Kind { created, renamed, removed } kind;
    std::string from;
    std::string to;
    std::string kept;
  };

  // Counts the operation. Returns the fault with which it must fail, or nothing.
  std::optional<Fault> meet(Operation operation);
  rocksdb::IOStatus append(FailingFile& file, const rocksdb::Slice& data);
  rocksdb::IOStatus sync(FailingFile& file);
  rocksdb::IOStatus sync_names();
  std::string keep(const std::string& path);
  void undo(const NameChange& change);
  void tear(const std::filesystem::path& path, const Bytes& bytes, std::mt19937_64& random);

  const std::filesystem::path dir_;
  const std::filesystem::path kept_dir_;
  std::mutex mutex_;
  std::map<ino_t, Bytes> bytes_;  // by inode, for the files that were written since the power came on
  std::vector<NameChange> changes_;
  std::uint64_t kept_count_ = 0;
  std::optional<Fault> planned_;
  std::uint64_t operations_left_ = 0;
  bool off_ = false;
  bool met_ = false;
  bool ignores_syncs_ = false;
};

}  // namespace kq::faults
