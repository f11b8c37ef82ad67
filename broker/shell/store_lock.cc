#include "broker/shell/store_lock.h"

#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "sys/folder_rights.h"

namespace kq::broker {
namespace {

constexpr mode_t kMode = 0644;

// `guarded` names in error texts what the lock guards.
Expected<sys::FileLock> take(const std::string& path, const std::string& guarded) {
  auto lock = sys::FileLock::take(path, "kq-broker, process " + std::to_string(::getpid()) + "\n", kMode);
  if (!lock) return bad_input(lock.error().message + "; the lock of " + guarded + " must be writable");
  if (!*lock) return bad_input(guarded + " is in use by another kq-broker; " + path + " is locked");
  return **std::move(lock);
}

}  // namespace

Expected<sys::FileLock> lock_store(const std::string& dir) {
  KQ_TRY(sys::check_others_cannot_write(dir, "store"));
  std::filesystem::path path = std::filesystem::path(dir).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) return bad_input(dir + ": " + error.message() + "; --store needs a directory that can be made");
  return take(path.string() + ".lock", "store " + dir);
}

Expected<std::optional<sys::FileLock>> lock_address(const std::string& url) {
  constexpr std::string_view kIpc = "ipc://";
  if (!url.starts_with(kIpc)) return std::nullopt;
  KQ_TRY_VALUE(auto lock, take(url.substr(kIpc.size()) + ".lock", url));
  return std::optional(std::move(lock));
}

}  // namespace kq::broker
