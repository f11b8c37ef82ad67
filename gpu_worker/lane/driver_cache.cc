#include "gpu_worker/lane/driver_cache.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

#include "core/bytes/hash.h"
#include "gpu_worker/machine/scratch.h"
#include "gpu_worker/machine/whole_file.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArchive = "code.zip";  // ARCHIVE in harness/kernels/driver_cache.py
// The record at the end of a zip file without a comment (APPNOTE.TXT of PKWARE, 4.3.16).
constexpr std::string_view kEndSignature = "PK\5\6";
constexpr std::size_t kEndBytes = 22;
constexpr mode_t kFolderMode = 0755;  // children run as other users
constexpr mode_t kArchiveMode = 0644;

bool is_whole(const fs::path& archive) {
  std::ifstream file(archive, std::ios::binary);
  file.seekg(-static_cast<std::streamoff>(kEndBytes), std::ios::end);
  std::string signature(kEndSignature.size(), '\0');
  file.read(signature.data(), static_cast<std::streamsize>(signature.size()));
  return file && signature == kEndSignature;
}

// Takes the right to change the folder of one key. Returns nothing where another lane has it.
Expected<std::optional<sys::FileLock>> lock_of(const std::string& folder) {
  return sys::FileLock::take(folder + ".lock", std::to_string(::getpid()), 0600);
}

// Removes the archives of other keys where there are kDriverCachesMax of them, but for those that a lane makes now.
void prune(const std::string& dir) {
  std::error_code error;
  std::vector<fs::path> folders;
  for (auto each = fs::directory_iterator(dir, error); !error && each != fs::directory_iterator();
       each.increment(error)) {
    if (each->is_directory(error)) folders.push_back(each->path());
  }
  if (folders.size() < kDriverCachesMax) return;
  for (const fs::path& folder : folders) {
    const auto lock = lock_of(folder.string());
    if (!lock || !*lock) continue;
    fs::remove_all(folder, error);
    fs::remove(folder.string() + ".lock", error);
  }
}

}  // namespace

bool are_files_protected(const std::string& layers, std::uint32_t first_uid) {
  const std::string list = "," + layers + ",";
  return first_uid != 0 || list.find(",mount,") != list.npos || list.find(",landlock,") != list.npos;
}

DriverCache::DriverCache(std::string dir, const DriverCacheKey& key) : dir_(std::move(dir)) {
  std::ifstream module(key.harness + "/kernels/driver_cache.py", std::ios::binary);
  const std::string calls(std::istreambuf_iterator<char>(module), {});
  folder_ =
      dir_ + '/' + to_hex(sha256(key.driver + '\n' + key.arch + '\n' + key.torch + '\n' + key.packages + '\n' + calls));
}

std::string DriverCache::folder() const {
  return is_whole(fs::path(folder_) / kArchive) ? folder_ : std::string();
}

Expected<std::optional<sys::FileLock>> DriverCache::lock() const {
  std::error_code error;
  fs::create_directories(dir_, error);
  if (error) return our_fault("cannot make " + dir_ + ": " + error.message());
  return lock_of(folder_);
}

Expected<void> DriverCache::keep(const std::string& out) const {
  KQ_TRY_VALUE(const std::string bytes, read_child_file(out + '/' + kArchive, kDriverCacheBytesMax + 1));
  if (bytes.size() > kDriverCacheBytesMax)
    return our_fault("the archive has more than " + std::to_string(kDriverCacheBytesMax >> 20) + " MiB");
  std::error_code error;
  if (!fs::exists(folder_, error)) prune(dir_);
  fs::remove_all(folder_, error);  // a worker that was killed may have left a part of an archive
  fs::create_directories(folder_, error);
  for (const std::string& each : {dir_, folder_}) fs::permissions(each, fs::perms(kFolderMode), error);
  return write_whole_file((fs::path(folder_) / kArchive).string(), bytes, kArchiveMode);
}

}  // namespace kq::worker
