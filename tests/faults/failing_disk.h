// A disk that fails: RocksDB's FileSystem over real files in one directory, which remembers what was synced.
//
// What is not synced may be lost in any way when the power goes: bytes not at all, in part, or as some 512-byte sectors
// and not others; a created, renamed or removed name, unless its directory was synced since, as if that had never
// happened. Sectors are never torn. While the power is on, operations can be made to fail one by one.
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

class FailingDisk final : public rocksdb::FileSystemWrapper {
 public:
  explicit FailingDisk(std::filesystem::path dir);
  ~FailingDisk() override;

  // The operation after `operations_n` more is met by the fault: a failing sync waits for a sync, the other two for an
  // append. After power_off everything fails; the others happen once.
  void plan(Fault fault, std::uint64_t operations_n);
  // Syncs are answered and do nothing: what tests of the tests plant.
  void lie_about_syncs() { lies_ = true; }

  bool met_fault() const { return met_; }

  // With the power off and the store closed: turns the directory into what such a disk may hold, and the power on
  // again.
  void settle(std::mt19937_64& random);

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
  // What became of names since the directory was synced. `kept` is a second name of a file that lost its first, outside
  // the directory.
  struct NameChange {
    enum class Kind { created, renamed, removed } kind;
    std::string from;
    std::string to;
    std::string kept;
  };

  // Nothing, or the fault that this operation meets.
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
  std::map<ino_t, Bytes> bytes_;  // of files written since the power came on
  std::vector<NameChange> changes_;
  std::uint64_t kept_n_ = 0;
  std::optional<Fault> planned_;
  std::uint64_t operations_left_ = 0;
  bool off_ = false;
  bool met_ = false;
  bool lies_ = false;
};

}  // namespace kq::faults
