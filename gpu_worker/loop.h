// The shell around the pure Worker: the calling thread serves the broker link, and there is one thread per device lane
// and one per build slot.
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
  std::string broker_url{};  // for log lines
  BuilderOptions builder;
  std::string cache_dir;
  std::uintmax_t cache_bytes_max = kCacheBytesMax;
  Builder::ZygoteSource zygote;     // for builds
  bool makes_headers_ahead = true;  // an idle worker makes prefixes of torch's headers that the cache lacks
  std::int64_t idle_exit_ms = 0;    // a worker without builds and runs for this long drains and ends; 0: never
};

// Serves the broker. Returns when `drain` is true or the worker was idle for too long and all results are acknowledged,
// or when `stop` is true; the leases are then returned by Goodbye. Without lanes the worker only builds for other
// workers.
Expected<void> work(net::ClientLink& broker, std::vector<std::unique_ptr<Lane>>& lanes, const LoopOptions& options,
                    const std::atomic<bool>& drain, const std::atomic<bool>& stop);

}  // namespace kq::worker
