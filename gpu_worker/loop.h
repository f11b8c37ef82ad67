// The shell around the pure Worker: one thread for the broker link, one per device lane, one per build slot.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/compile/builder.h"
#include "gpu_worker/core/worker.h"
#include "gpu_worker/lane/lane.h"
#include "net/link.h"

namespace kq::worker {

struct LoopOptions {
  WorkerOptions worker;
  BuilderOptions builder;
  std::string cache_dir;
  std::uintmax_t cache_bytes_max = kCacheBytesMax;
  Builder::ZygoteSource zygote;  // of builds
};

// Without lanes it only builds, for others. Works until `drain` becomes true and everything that ran is reported, or
// until `stop` becomes true (leases go back by Goodbye).
Expected<void> work(net::ClientLink& broker, std::vector<std::unique_ptr<Lane>>& lanes, const LoopOptions& options,
                    const std::atomic<bool>& drain, const std::atomic<bool>& stop);

}  // namespace kq::worker
