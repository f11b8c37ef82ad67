#include "store/rocks/preallocation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "store/rocks/direct_file.h"

namespace kq::store {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr std::size_t kSmallBytes = 256u << 10;  // from here on the bytes themselves are what takes time

class RoomyLog final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  explicit RoomyLog(std::unique_ptr<rocksdb::FSWritableFile>&& file) : FSWritableFileOwnerWrapper(std::move(file)) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options, IODebugContext* debug) override {
    make_room(data.size(), options, debug);
    return count(data.size(), target()->Append(data, options, debug));
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification, IODebugContext* debug) override {
    make_room(data.size(), options, debug);
    return count(data.size(), target()->Append(data, options, verification, debug));
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    if (room_end_ > 0) {
      // A log that stays longer is read all the same.
      target()->Truncate(written_, options, debug).PermitUncheckedError();
    }
    return target()->Close(options, debug);
  }

 private:
  void make_room(std::size_t bytes, const IOOptions& options, IODebugContext* debug) {
    if (!can_have_room_ || bytes > kSmallBytes || written_ + bytes <= room_end_) return;
    alignas(DirectFile::kBlockBytes) static char zeros[kLogRoomBytes];  // never written
    const std::uint64_t at = DirectFile::whole_blocks(std::max(written_, room_end_));
    room_end_ = at + kLogRoomBytes;
    // What fails here, for want of space perhaps, would fail a commit that may fit: whether it does is for the append
    // to say.
    can_have_room_ = target()->PositionedAppend({zeros, kLogRoomBytes}, at, options, debug).ok();
  }
  IOStatus count(std::size_t bytes, IOStatus appended) {
    if (appended.ok()) written_ += bytes;
    return appended;
  }

  std::uint64_t written_ = 0;
  std::uint64_t room_end_ = 0;  // zeros up to here; 0: never were any
  bool can_have_room_ = true;
};

class RoomyLogs final : public rocksdb::FileSystemWrapper {
 public:
  explicit RoomyLogs(const std::shared_ptr<rocksdb::FileSystem>& files) : FileSystemWrapper(files) {}

  const char* Name() const override { return "kq.RoomyLogs"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, IODebugContext* debug) override {
    IOStatus made = target()->NewWritableFile(path, options, file, debug);
    if (made.ok() && path.ends_with(".log")) *file = std::make_unique<RoomyLog>(std::move(*file));
    return made;
  }
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> with_log_room(const std::shared_ptr<rocksdb::FileSystem>& files) {
  return std::make_shared<RoomyLogs>(files);
}

}  // namespace kq::store
