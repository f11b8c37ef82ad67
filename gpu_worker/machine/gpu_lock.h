// Locks that give a GPU of a host to one worker alone.
//
// Two workers on one GPU would disturb each other's timed calls, and each judge would take the work of the other worker
// for work that an honest kernel left running after its call. The name of the lock file is the GPU's UUID, because GPU
// indices differ from process to process.
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
  // Locks `gpu` for the worker with the name `holder` in each of `dirs`. Directories in which no lock file can be made
  // are left out. Fails with ErrorKind::bad_input if another worker has locked the GPU, and with ErrorKind::our_fault
  // if no directory is left.
  static Expected<GpuLock> take(std::span<const std::string> dirs, const DeviceInfo& gpu, const std::string& holder);

 private:
  std::vector<sys::FileLock> files_;
};

}  // namespace kq::worker
