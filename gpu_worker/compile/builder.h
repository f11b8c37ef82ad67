// The build lane's work on one lease: static guard, then the build in sandboxed children without GPU, or a cache hit.
//
// A build child reads the sources and runs nothing of the job: what the guard judges comes from there. Where Python
// calls load_inline or load, a record child runs the file to learn what it asks for; what it asks for is judged too,
// and compiled by a child that runs compilers alone. Where it launches kernels of triton's on a GPU, a record child
// compiles them while it runs the file.
//
// The cache is written here. What children of ours left is for everybody; what a child left that ran code of the job is
// for that very source.
//
// An object that came with a lease goes into the cache first, if its key is the one that is computed here: then it is
// found there, and judged, as what was built here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "gpu_worker/compile/cache.h"
#include "gpu_worker/compile/child.h"
#include "gpu_worker/compile/extension.h"
#include "gpu_worker/compile/keys_in_work.h"
#include "gpu_worker/compile/ready_builds.h"
#include "gpu_worker/core/worker.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

inline constexpr std::uint32_t kReadyUids = 1024;

struct BuilderOptions {
  std::string scratch;      // parent of scratch directories
  std::uint32_t uid = 0;    // of the build children of slot 0, and so on upward, and from kReadyUids above on of those
                            // that wait; 0 keeps ours
  std::string no_gpu_arch;  // what device code is compiled for where no GPU says
  std::uint32_t limit_ms = 120'000;
  std::uint32_t compile_limit_ms = 300'000;  // of one call of load_inline
  std::uint32_t ahead_limit_ms = 30'000;     // of compiling triton's kernels; what is not done then is left to the job
  std::uint64_t host_bytes = 4ull << 30;     // private memory of each process of a build
};

class Builder {
 public:
  // Gives a living one, for builds for such a device; it may start it.
  using ZygoteSource = std::function<Expected<std::shared_ptr<Zygote>>(DeviceKind)>;
  Builder(BuilderOptions options, BuildCache cache, ZygoteSource zygote);

  // Blocking; one call at a time per slot, several slots at once. A stop kills the build's child and ends in an Error.
  Expected<Built> build(const Lease& lease, std::stop_token stop = {}, std::size_t slot = 0);
  // The same for others: where it went well, what is built is packed.
  Expected<Built> build_object(const Lease& lease, std::stop_token stop = {}, std::size_t slot = 0);

 private:
  // One build on its way: what its steps have in common.
  struct Job {
    const Lease& lease;
    std::string arch;
    std::shared_ptr<Zygote> zygote;
    std::stop_token stop;
    std::size_t slot = 0;
    std::int64_t end_ms = 0;  // of all of it together, where the submission has a limit
  };
  Expected<Job> begin(const Lease& lease, std::stop_token stop, std::size_t slot, std::int64_t start_ms) const;
  // What the guard may take from now on.
  BuildTime time_to_judge(const Lease& lease, const std::stop_token& stop, std::int64_t end_ms) const;
  static Hash key_of(const Job& job);
  void adopt(const Job& job, const Hash& key);
  bool is_of_this_toolchain(const Job& job, const std::string& dir);
  std::optional<Built> from_cache(const Job& job, const Hash& key);
  Expected<Built> run(const Job& job, const Hash& key);
  // Nothing: the extensions lie in `out`, and all is well. `cached`: none of them had to be compiled.
  Expected<std::optional<Verdict>> build_extensions(const Job& job, const std::string& toolchain,
                                                    const std::string& out, bool& cached);
  struct Compiled {
    std::optional<Verdict> verdict;
    std::string dir;
    bool cached = false;
    std::string toolchain = {};  // the file of that name
  };
  // Kernels of triton's into `out`, as far as that goes.
  Expected<void> compile_ahead(const Job& job, const std::string& out);
  Expected<Compiled> compile(const Job& job, const ExtensionCall& call, const std::string& toolchain);
  Expected<void> make_header(const Job& job, const Hash& group, const std::string& variant);
  Expected<Scratch> scratch(const Job& job, const std::string& name) const;
  BuildChild child_of(const Job& job, ChildRole role, std::uint32_t limit_ms, const std::string& shared = {}) const;
  Expected<BuildEnd> run_child(const Job& job, ChildRole role, const Scratch& scratch, std::uint32_t limit_ms,
                               const std::string& shared = {}) const;
  Built outcome(const Job& job, const std::string& dir, bool cached) const;

  BuilderOptions options_;
  BuildCache cache_;
  ZygoteSource zygote_;
  KeysInWork keys_;
  ReadyBuilds ready_;
  std::mutex toolchain_mutex_;
  std::string toolchain_;  // of this machine, as the last build's child told it
};

}  // namespace kq::worker
