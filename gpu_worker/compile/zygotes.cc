#include "gpu_worker/compile/zygotes.h"

#include <utility>

namespace kq::worker {

Expected<std::shared_ptr<Zygote>> BuildZygotes::get(DeviceKind kind) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Zygote>& zygote = zygotes_[kind];
  if (!zygote || !zygote->alive()) {
    ZygoteOptions options = options_;
    options.device = kind;
    KQ_TRY_VALUE(auto started, Zygote::start(options));
    zygote = std::move(started);
  }
  return zygote;
}

}  // namespace kq::worker
