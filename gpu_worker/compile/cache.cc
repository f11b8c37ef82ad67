#include "gpu_worker/compile/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/base/version.h"
#include "gpu_worker/compile/object.h"
#include "gpu_worker/machine/scratch.h"
#include "sys/clock.h"
#include "sys/error_text.h"
#include "sys/fd.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPutsPerRecount = 64;   // a recount reads every entry
constexpr std::int64_t kInUseMs = 10 * 60'000;  // an entry that was found within this time may still be copied from
// A full cache removes entries earlier, when they have most likely been copied. A build that does not find its entry
// any more builds again.
constexpr std::int64_t kJustUsedMs = 2 * 60'000;
constexpr std::uintmax_t kSlack = 16;               // 1 / kSlack of the limit is freed at once
constexpr std::int64_t kAbandonedMs = 60 * 60'000;  // the writer of an older temporary directory was killed

tl::unexpected<Error> cannot(const std::string& action, const std::string& path) {
  return our_fault(sys::error_text("cannot " + action + " " + path));
}

Expected<void> sync_directory(const std::string& path) {
  const sys::Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return cannot("sync", path);
  return {};
}

// Writes a read-only file that is on the disk when the function returns.
Expected<void> write_synced(const std::string& path, std::string_view bytes) {
  const sys::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  if (!file) return cannot("create", path);
  while (!bytes.empty()) {
    const ssize_t size = ::write(file.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return cannot("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  if (::fsync(file.get()) != 0) return cannot("sync", path);
  return {};
}

// Copies all files of a build and returns their bytes. Fails if one cannot be copied: an incomplete entry would make
// the submission fail forever.
Expected<std::uintmax_t> copy_build(const std::string& from, const std::string& to, std::size_t files_max,
                                    std::uintmax_t bytes_max) {
  std::error_code error;
  std::size_t files = 0;
  std::uintmax_t bytes = 0;
  std::map<std::string, std::string> lines;  // sorted by file name, so that equal builds make equal entries
  for (fs::directory_iterator found(from, error), end; !error && found != end; found.increment(error)) {
    if (found->symlink_status(error).type() != fs::file_type::regular) continue;  // a build makes regular files only
    const std::string name = found->path().filename();
    if (name == kEntryListName || name.find('\n') != std::string::npos) continue;
    KQ_TRY_VALUE(const auto content, read_child_file(found->path(), bytes_max + 1));
    bytes += content.size();
    if (++files > files_max || bytes > bytes_max) {
      return bad_input("the build made more than " + std::to_string(files_max) + " files or " +
                       std::to_string(bytes_max) + " bytes");
    }
    KQ_TRY(write_synced(to + "/" + name, content));
    lines[name] = to_hex(sha256(content)) + " " + std::to_string(content.size()) + " " + name + "\n";
  }
  if (error) return our_fault("cannot read " + from + ": " + error.message());
  std::string list;
  for (const auto& [name, line] : lines) list += line;
  KQ_TRY(write_synced(to + "/" + std::string(kEntryListName), list));
  return sync_directory(to).map([&] { return bytes; });
}

std::optional<std::vector<ListedFile>> list_of(const std::string& entry) {
  const auto text = read_child_file(entry + "/" + std::string(kEntryListName), kEntryListBytesMax);
  return text ? parse_entry_list(*text) : std::nullopt;
}

// Whether all files of an entry are as they were put.
bool is_whole(const std::string& entry) {
  const auto files = list_of(entry);
  if (!files) return false;
  return std::all_of(files->begin(), files->end(), [&](const ListedFile& file) {
    const std::string path = entry + "/" + file.name;
    std::error_code error;
    if (fs::file_size(path, error) != file.bytes || error) return false;
    const auto content = read_child_file(path, file.bytes);
    return content && to_hex(sha256(*content)) == file.hex;
  });
}

// Returns a text that differs once a file of the entry was changed or replaced; an empty text where one is missing.
std::string stamp_of(const std::string& entry) {
  auto files = list_of(entry);
  if (!files) return {};
  files->push_back({{}, 0, std::string(kEntryListName)});
  std::string stamp;
  for (const ListedFile& file : *files) {
    struct stat status {};
    if (::stat((entry + "/" + file.name).c_str(), &status) != 0) return {};
    for (const auto number : {std::int64_t{status.st_mtim.tv_sec}, std::int64_t{status.st_mtim.tv_nsec},
                              std::int64_t{status.st_ctim.tv_sec}, std::int64_t{status.st_ctim.tv_nsec},
                              static_cast<std::int64_t>(status.st_ino), std::int64_t{status.st_size}})
      stamp += std::to_string(number) + " ";
  }
  return stamp;
}

void remove_entry(const std::string& path) {
  std::error_code ignored;  // find() removes the rest later
  fs::remove_all(path, ignored);
}

void touch(const std::string& path) {
  (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

std::int64_t changed_at_ms(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return 0;
  return static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

std::vector<std::string> directories_in(const std::string& path) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->is_directory(error)) found.push_back(entry->path().filename());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool is_hex(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::vector<std::string> entry_names(const std::string& dir) {
  std::vector<std::string> names;
  for (const std::string& part : directories_in(dir)) {
    if (part.size() != 2 || !is_hex(part)) continue;
    for (const std::string& key : directories_in(dir + "/" + part)) {
      if (key.size() == 64 && is_hex(key)) names.push_back(part + "/" + key);
    }
  }
  for (const std::string& group : directories_in(dir + "/headers")) {
    for (const std::string& name : directories_in(dir + "/headers/" + group))
      names.push_back("headers/" + group + "/" + name);
  }
  return names;
}

}  // namespace

Hash build_key(const Submission& submission, DeviceKind device, const std::string& arch, const Software& software,
               const std::string& compilers) {
  std::string text = "kq-build/8\n";
  const auto put = [&text](std::string_view value) {
    text += std::to_string(value.size()) + ":" + std::string(value) + "\n";
  };
  put(kVersion);  // the harness that reads the sources has the same version
  put(kEvaluatorVersion);
  put(to_string(submission.backend));
  put(to_string(device));
  put(arch);
  for (const std::string& version : {software.python, software.torch, software.triton, software.cuda, compilers})
    put(version);
  for (const SourceFile& file : submission.files) {
    put(file.name);
    put(as_bytes(file.hash));
  }
  // Python code may compile while it is constructed and called, and depend on its inputs.
  if (submission.backend != Backend::cuda) {
    put(as_bytes(submission.problem.hash));
    put(submission.problem.file);  // the code may import it
    put(to_string(submission.problem.precision));
  }
  return sha256(text);
}

std::string BuildCache::entry(const Hash& key) const {
  const std::string hex = to_hex(key);
  return dir_ + "/" + hex.substr(0, 2) + "/" + hex;
}

bool BuildCache::has(const Hash& key) const {
  std::error_code error;
  return fs::is_directory(entry(key), error);
}

std::optional<std::string> BuildCache::find(const Hash& key) const {
  std::string path = entry(key);
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::nullopt;
  if (!is_whole(path)) {
    remove_entry(path);
    return std::nullopt;
  }
  touch(path);
  return path;
}

void BuildCache::remove(const Hash& key) const {
  remove_entry(entry(key));
}

Expected<std::string> BuildCache::put(const Hash& key, const std::string& from) const {
  std::string path = entry(key);
  KQ_TRY(publish(from, path, kBuildFilesMax, kBuildBytesMax));
  if (!find(key)) return our_fault("cannot make " + path);
  return path;
}

// Copies a build to a temporary directory and renames that to `to`. If another worker was faster, its entry stays,
// which has the same content.
Expected<void> BuildCache::publish(const std::string& from, const std::string& to, std::size_t files_max,
                                   std::uintmax_t bytes_max) const {
  static std::atomic<std::uint64_t> number = 0;
  const std::string temporary = dir_ + "/tmp/" + std::to_string(::getpid()) + "-" + std::to_string(++number);
  const std::string parent = fs::path(to).parent_path();
  std::error_code error;
  fs::remove_all(temporary, error);
  fs::create_directories(temporary, error);
  if (!error) fs::create_directories(parent, error);
  if (error) return our_fault("cannot make " + temporary + ": " + error.message());
  const auto room = copy_build(from, temporary, files_max, bytes_max).and_then([&](std::uintmax_t bytes) {
    return make_room(bytes);
  });
  if (!room) {
    fs::remove_all(temporary, error);
    return room;
  }
  // From here on the entry can be found.
  fs::rename(temporary, to, error);
  if (error) fs::remove_all(temporary, error);
  return sync_directory(parent);
}

// Makes room for one more entry and counts its bytes. An entry that another worker has put too is counted twice until
// the next recount.
Expected<void> BuildCache::make_room(std::uintmax_t bytes) const {
  const std::uintmax_t known = count_->bytes += bytes;
  if (++count_->puts % kPutsPerRecount != 1 && known <= count_->next_recount_bytes) return {};
  const std::uintmax_t target = bytes_max_ - std::min(bytes_max_, bytes + bytes_max_ / kSlack);
  auto pruned = prune_to(target, kInUseMs);
  if (pruned && pruned->bytes_left + bytes > bytes_max_) pruned = prune_to(target, kJustUsedMs);
  if (!pruned) return {};
  count_->bytes = pruned->bytes_left + bytes;
  // If too little could be removed, the next recount comes after some more puts.
  count_->next_recount_bytes =
      std::clamp(pruned->bytes_left + bytes + bytes_max_ / kSlack / 4, bytes_max_, 2 * bytes_max_);
  if (pruned->bytes_left + bytes <= 2 * bytes_max_) return {};
  count_->bytes = pruned->bytes_left;
  return our_fault("the build cache has twice its limit of " + std::to_string(bytes_max_) +
                   " bytes, and all entries are in use");
}

Expected<std::string> BuildCache::headers(const Hash& group) const {
  std::string path = dir_ + "/headers/" + to_hex(group).substr(0, 32);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return our_fault("cannot make " + path + ": " + error.message());
  return path;
}

bool BuildCache::has_header(const Hash& group, const std::string& name) const {
  const auto path = headers(group);
  if (!path) return false;
  const std::string entry = *path + "/" + name;
  const std::shared_ptr<Verified> known = verified(entry);
  const std::lock_guard lock(known->mutex);  // builds that begin together read it once
  std::string stamp = stamp_of(entry);
  if (stamp.empty() || known->stamp != stamp) {
    std::error_code error;
    if (!fs::is_directory(entry, error)) return false;
    if (stamp.empty() || !is_whole(entry)) {
      remove_entry(entry);
      return false;
    }
    known->stamp = std::move(stamp);
  }
  touch(entry);
  return true;
}

std::shared_ptr<BuildCache::Verified> BuildCache::verified(const std::string& entry) const {
  const std::lock_guard lock(headers_->mutex);
  std::shared_ptr<Verified>& found = headers_->by_path[entry];
  if (found == nullptr) found = std::make_shared<Verified>();
  return found;
}

Expected<void> BuildCache::put_header(const Hash& group, const std::string& name, const std::string& from) const {
  KQ_TRY_VALUE(const auto path, headers(group));
  return publish(from, path + "/" + name, kBuildFilesMax, kHeaderBytesMax);
}

std::vector<CacheEntry> BuildCache::list() const {
  std::vector<CacheEntry> found;
  for (const std::string& name : entry_names(dir_)) {
    const std::string path = dir_ + "/" + name;
    CacheEntry entry{.name = name.starts_with("headers/") ? name : name.substr(3),
                     .bytes = 0,
                     .file_count = 0,
                     .used_at_ms = changed_at_ms(path)};
    if (const auto files = list_of(path)) {
      entry.file_count = files->size();
      for (const ListedFile& file : *files) entry.bytes += file.bytes;
    }
    found.push_back(std::move(entry));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const CacheEntry& a, const CacheEntry& b) { return a.used_at_ms < b.used_at_ms; });
  return found;
}

std::vector<std::string> BuildCache::verify() const {
  std::vector<std::string> damaged;
  for (const std::string& name : entry_names(dir_)) {
    if (is_whole(dir_ + "/" + name)) continue;
    remove_entry(dir_ + "/" + name);
    damaged.push_back(name.starts_with("headers/") ? name : name.substr(3));
  }
  return damaged;
}

std::size_t BuildCache::prune(std::uintmax_t bytes_max) const {
  const auto pruned = prune_to(bytes_max, bytes_max == 0 ? 0 : kInUseMs);
  return pruned ? pruned->removed : 0;
}

std::optional<BuildCache::Pruned> BuildCache::prune_to(std::uintmax_t bytes_max, std::int64_t in_use_ms) const {
  std::error_code error;
  fs::create_directories(dir_, error);
  const sys::Fd lock(::open((dir_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  const std::int64_t now_ms = sys::unix_now_ms();
  for (const std::string& name : directories_in(dir_ + "/tmp")) {
    if (changed_at_ms(dir_ + "/tmp/" + name) + kAbandonedMs < now_ms) remove_entry(dir_ + "/tmp/" + name);
  }
  Pruned pruned;
  const std::vector<CacheEntry> entries = list();
  for (const CacheEntry& entry : entries) pruned.bytes_left += entry.bytes;
  for (const CacheEntry& entry : entries) {
    if (pruned.bytes_left <= bytes_max || entry.used_at_ms + in_use_ms > now_ms) break;
    remove_entry(dir_ + "/" +
                 (entry.name.starts_with("headers/") ? entry.name : entry.name.substr(0, 2) + "/" + entry.name));
    pruned.bytes_left -= std::min(pruned.bytes_left, entry.bytes);
    ++pruned.removed;
  }
  return pruned;
}

}  // namespace kq::worker
