// The build lane's work on one lease: static guard, then the build in a sandboxed child without GPU, or a cache hit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "gpu_worker/build/cache.h"
#include "gpu_worker/worker.h"
#include "gpu_worker/zygote.h"

namespace kq {

struct BuilderOptions {
  std::string scratch;     // parent of scratch directories
  std::uint32_t uid = 0;   // of build children; 0 keeps ours
  std::string no_gpu_arch; // what device code is compiled for where no GPU says
  std::uint32_t limit_ms = 120'000;
  std::uint64_t host_bytes = 4ull << 30;  // private memory of each process of a build
};

class Builder {
 public:
  // `zygote` gives a living one; it may start it.
  using ZygoteSource = std::function<Expected<std::shared_ptr<Zygote>>()>;
  Builder(BuilderOptions options, BuildCache cache, ZygoteSource zygote);

  // Blocking; one call at a time per object. A stop kills the build's child and ends in an Error.
  Expected<Built> build(const Lease& lease, std::stop_token stop = {});

 private:
  std::optional<Built> from_cache(const Lease& lease, const Hash& key) const;
  Expected<Built> run_child(const Lease& lease, const std::string& arch, const Hash& key, Zygote& zygote,
                            const std::stop_token& stop);
  Built outcome(const Lease& lease, const std::string& dir, bool cached) const;

  BuilderOptions options_;
  BuildCache cache_;
  ZygoteSource zygote_;
};

}  // namespace kq
