// The zygotes that a worker without lanes builds with: one for builds for a CPU, one for a GPU, which it takes none to
// have.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/base/error.h"
#include "core/device.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

class BuildZygotes {
 public:
  explicit BuildZygotes(ZygoteOptions options) : options_(std::move(options)) {}

  // A living one; started when it is first asked for, and again when it has died. Thread-safe.
  Expected<std::shared_ptr<Zygote>> get(DeviceKind kind);

 private:
  ZygoteOptions options_;
  std::mutex mutex_;
  std::map<DeviceKind, std::shared_ptr<Zygote>> zygotes_;
};

}  // namespace kq::worker
