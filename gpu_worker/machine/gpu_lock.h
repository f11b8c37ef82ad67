// Locks that give a GPU of a host to one worker alone.
//
// Two workers on one GPU would disturb each other's timed calls, and honest kernels would seem to go on after their
// calls. The lock file is named by the GPU's UUID, because GPU indices differ from process to process.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/device.h"
#include "sys/file_lock.h"

namespace kq::worker {

// Returns the directories for lock files that all users of a host share. GpuLock takes a lock in each of them, because
// another user, service or container may see only one. Containers that share none of them are not locked against each
// other (docs/operator/run.md).
std::vector<std::string> gpu_lock_dirs();

// The lock on one GPU. The destructor releases it.
class GpuLock {
 public:
  // Locks `gpu` in each of `dirs` that can be used, for the worker with the name `holder`. Fails with
  // ErrorKind::bad_input if another worker has locked the GPU.
  static Expected<GpuLock> take(std::span<const std::string> dirs, const DeviceInfo& gpu, const std::string& holder);

 private:
  std::vector<sys::FileLock> files_;
};

}  // namespace kq::worker
