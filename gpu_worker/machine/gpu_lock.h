// One worker has a GPU of a host to itself: beside another one's jobs no trial is quiet, and honest kernels would look
// as if they worked on after their calls. The lock is on a file that is named by the GPU's UUID, because indexes differ
// from process to process.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/device.h"
#include "sys/file_lock.h"

namespace kq::worker {

// Directories of the whole host. A lock is in all of them that a worker can have, as another user, service or container
// may have only one. Where containers share none, nobody here can tell (docs/operations.md).
std::vector<std::string> gpu_lock_dirs();

class GpuLock {
 public:
  // `holder` is the worker's name. ExitCode::bad_input: another worker has that GPU.
  static Expected<GpuLock> take(std::span<const std::string> dirs, const DeviceInfo& gpu, const std::string& holder);

 private:
  std::vector<sys::FileLock> files_;
};

}  // namespace kq::worker
