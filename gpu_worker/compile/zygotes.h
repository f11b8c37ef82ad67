// The zygotes with which a worker without lanes builds: one for CPUs and one for GPUs, which does not need a GPU.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/base/error.h"
#include "core/device.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

// Owns the zygotes.
class BuildZygotes {
 public:
  explicit BuildZygotes(ZygoteOptions options) : options_(std::move(options)) {}

  // Returns a living zygote. Starts it at the first call, and again if it has died. Thread-safe.
  Expected<std::shared_ptr<Zygote>> get(DeviceKind kind);

 private:
  ZygoteOptions options_;
  std::mutex mutex_;
  std::map<DeviceKind, std::shared_ptr<Zygote>> zygotes_;
};

}  // namespace kq::worker
