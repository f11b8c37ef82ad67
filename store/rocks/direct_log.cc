#include "store/rocks/direct_log.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "store/rocks/direct_file.h"

namespace kq::store {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

IOStatus status_of(bool is_written) {
  if (is_written) return IOStatus::OK();
  const std::string why = std::strerror(errno);
  return errno == ENOSPC ? IOStatus::NoSpace(why) : IOStatus::IOError(why);
}

// Of one file with two descriptors: what is not written here goes through the other one, syncs too.
class DirectLog final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  DirectLog(std::unique_ptr<rocksdb::FSWritableFile>&& file, std::unique_ptr<DirectFile> direct)
      : FSWritableFileOwnerWrapper(std::move(file)), direct_(std::move(direct)) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions&, IODebugContext*) override {
    return status_of(direct_->append({data.data(), data.size()}));
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus PositionedAppend(const rocksdb::Slice& data, std::uint64_t at, const IOOptions&, IODebugContext*) override {
    return status_of(direct_->write_ahead({data.data(), data.size()}, at));
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    // A log that stays longer is read all the same.
    target()->Truncate(direct_->end(), options, debug).PermitUncheckedError();
    return target()->Close(options, debug);
  }

 private:
  const std::unique_ptr<DirectFile> direct_;
};

class DirectLogs final : public rocksdb::FileSystemWrapper {
 public:
  explicit DirectLogs(const std::shared_ptr<rocksdb::FileSystem>& files) : FileSystemWrapper(files) {}

  const char* Name() const override { return "kq.DirectLogs"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) override {
    const IOStatus made = target()->NewWritableFile(path, options, file, debug);
    if (!made.ok() || !path.ends_with(".log")) return made;
    if (auto direct = DirectFile::open(path)) *file = std::make_unique<DirectLog>(std::move(*file), std::move(direct));
    return made;
  }
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> with_direct_logs(const std::shared_ptr<rocksdb::FileSystem>& files) {
  return std::make_shared<DirectLogs>(files);
}

}  // namespace kq::store
