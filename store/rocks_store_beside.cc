#include "store/rocks_store_beside.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "store/log_ending.h"

namespace kq {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

// A log, up to one of its records.
class WholeLog final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  WholeLog(std::unique_ptr<rocksdb::FSSequentialFile>&& file, std::uint64_t bytes) : FSSequentialFileOwnerWrapper(std::move(file)), left_(bytes) {}

  IOStatus Read(std::size_t bytes, const IOOptions& options, rocksdb::Slice* result, char* room, IODebugContext* debug) override {
    IOStatus read = target()->Read(std::min<std::uint64_t>(bytes, left_), options, result, room, debug);
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

// Their names are numbers that ascend.
bool is_older(const std::string& a, const std::string& b) {
  return std::tuple(a.size(), a) < std::tuple(b.size(), b);
}

// Of the names of files, those of logs, the oldest first.
std::vector<std::string> logs_of(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".log"); });
  std::ranges::sort(names, is_older);
  return names;
}

class BesideWriter final : public rocksdb::FileSystemWrapper {
 public:
  explicit BesideWriter(const std::shared_ptr<rocksdb::FileSystem>& files) : FileSystemWrapper(files) {}

  const char* Name() const override { return "kq.BesideWriter"; }

  IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file, IODebugContext* debug) override {
    const std::filesystem::path place(path);
    const std::string name = place.filename();
    if (name == "CURRENT") are_logs_next_ = false;  // it is the MANIFEST that is next
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

  // What RocksDB lists first after it has read the MANIFEST are the logs that it is going to read.
  IOStatus GetChildren(const std::string& dir, const IOOptions& options, std::vector<std::string>* names, IODebugContext* debug) override {
    held_.clear();
    IOStatus listed = target()->GetChildren(dir, options, names, debug);
    if (!listed.ok() || !std::exchange(are_logs_next_, false)) return listed;
    return hold(dir, logs_of(*names), debug);
  }

 private:
  IOStatus hold(const std::string& dir, const std::vector<std::string>& logs, IODebugContext* debug) {
    const auto before = logs_of(before_manifest_);
    // Where there was none, one may have come and gone.
    if (!std::ranges::includes(logs, before, is_older) || before.empty() != logs.empty()) {
      return IOStatus::IOError(dir, "logs were replaced by the process that writes it while it was opened for reading");
    }
    for (const std::string& name : logs) {
      IOStatus opened = target()->NewSequentialFile(dir + "/" + name, {}, &held_[name], debug);
      if (!opened.ok()) return opened;
    }
    if (logs.empty()) return IOStatus::OK();
    const auto newest = look_at_log(dir + "/" + logs.back(), LogCheck::checksums);
    if (!newest) return IOStatus::IOError(newest.error().message);
    auto& file = held_[logs.back()];
    // RocksDB says what is damaged.
    if (newest->ending != LogEnding::damaged) file = std::make_unique<WholeLog>(std::move(file), newest->good_bytes);
    return IOStatus::OK();
  }

  std::vector<std::string> before_manifest_;  // the names of all files
  bool are_logs_next_ = false;
  std::map<std::string, std::unique_ptr<rocksdb::FSSequentialFile>> held_;  // logs by name
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> beside_writer(const std::shared_ptr<rocksdb::FileSystem>& files) {
  return std::make_shared<BesideWriter>(files);
}

}  // namespace kq
