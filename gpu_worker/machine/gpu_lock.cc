#include "gpu_worker/machine/gpu_lock.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kq::worker {
namespace {

constexpr mode_t kModeOfAll = 01777;  // of everybody, and nobody removes another's file

Expected<void> make_directory(const std::string& dir) {
  if (::mkdir(dir.c_str(), kModeOfAll) == 0) {
    (void)::chmod(dir.c_str(), kModeOfAll);  // whatever the umask
  } else if (errno != EEXIST) {
    return our_fault(dir + ": " + std::strerror(errno));
  }
  struct stat found {};
  if (::lstat(dir.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return our_fault(dir + " is no directory");
  return {};
}

std::string file_name(std::string uuid) {
  std::ranges::replace(uuid, '/', '_');  // of a part of a GPU, by drivers before 470
  return uuid;
}

}  // namespace

std::vector<std::string> gpu_lock_dirs() {
  return {"/run/lock/kq", "/tmp/kq-locks"};
}

Expected<GpuLock> GpuLock::take(std::span<const std::string> dirs, const DeviceInfo& gpu, const std::string& holder) {
  GpuLock lock;
  const std::string what = gpu.model + " " + gpu.uuid;
  std::string why = "no directory for it";
  for (const std::string& dir : dirs) {
    const std::string path = dir + "/" + file_name(gpu.uuid);
    auto file = make_directory(dir).and_then([&] {
      return sys::FileLock::take(path, "process " + std::to_string(::getpid()) + ", kq-worker " + holder + "\n");
    });
    if (!file) {
      why = file.error().message;
    } else if (!*file) {
      const std::string other = sys::FileLock::holder_of(path);
      return bad_input(what + " is in use by " + (other.empty() ? "another kq-worker" : other) +
                       ": a worker has its GPUs to itself; name others with --devices (" + path + " is locked)");
    } else {
      lock.files_.push_back(std::move(**file));
    }
  }
  if (lock.files_.empty()) return our_fault(what + " cannot be locked against other workers: " + why);
  return lock;
}

}  // namespace kq::worker
