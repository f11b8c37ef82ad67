#include "gpu_worker/machine/gpu_lock.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sys/error_text.h"

namespace kq::worker {
namespace {

constexpr mode_t kSharedMode = 01777;  // everybody may make files and remove only their own

Expected<void> make_directory(const std::string& dir) {
  if (::mkdir(dir.c_str(), kSharedMode) == 0) {
    (void)::chmod(dir.c_str(), kSharedMode);  // mkdir applied the umask
  } else if (errno != EEXIST) {
    return our_fault(sys::error_text(dir));
  }
  struct stat found {};
  if (::lstat(dir.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return our_fault(dir + " is not a directory");
  return {};
}

std::string file_name(std::string uuid) {
  std::ranges::replace(uuid, '/', '_');  // drivers before 470 have slashes in the UUID of a MIG instance
  return uuid;
}

}  // namespace

std::vector<std::string> gpu_lock_dirs() {
  return {"/run/lock/kq", "/tmp/kq-locks"};
}

Expected<GpuLock> GpuLock::take(std::span<const std::string> dirs, const DeviceInfo& gpu, const std::string& holder) {
  GpuLock lock;
  const std::string name = gpu.model + " " + gpu.uuid;
  std::string reason = "there is no directory for lock files";
  for (const std::string& dir : dirs) {
    const std::string path = dir + "/" + file_name(gpu.uuid);
    auto file = make_directory(dir).and_then([&] {
      return sys::FileLock::take(path, "process " + std::to_string(::getpid()) + ", kq-worker " + holder + "\n");
    });
    if (!file) {
      reason = file.error().message;
    } else if (!*file) {
      const std::string other = sys::FileLock::holder_of(path);
      return bad_input(name + " is in use by " + (other.empty() ? "another kq-worker" : other) +
                       ": a GPU can have only one worker; name other GPUs with --devices (" + path + " is locked)");
    } else {
      lock.files_.push_back(std::move(**file));
    }
  }
  if (lock.files_.empty()) return our_fault(name + " cannot be locked against other workers: " + reason);
  return lock;
}

}  // namespace kq::worker
