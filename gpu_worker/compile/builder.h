// Builds one lease: static guard, then a hit in the cache or a build in sandboxed children without a GPU.
//
// Theory of operation. A build child reads the sources and runs no code of the job; the facts that the guard judges
// come from it. If a Python file calls load_inline or load, a tracing child runs the file to record these calls; the
// guard judges the recorded sources, and a compile child, which runs compilers only, compiles them. A call that does
// not compile is the submission's to catch: the tracing child runs again with torch's error raised at that call. If the
// error leaves the file, the build has failed; else the calls of the fallback are compiled too. If the file launches
// Triton kernels on a GPU, a tracing child compiles them while it runs the file.
//
// Only this process writes to the cache. What build and compile children make is cached for all submissions; what a
// tracing child makes, which has run code of the job, is cached for the same submission only.
//
// An object that came with a lease is put into the cache first, if its key is the one that is computed here. It is then
// found and judged like an object that was built here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu_worker/compile/build_gate.h"
#include "gpu_worker/compile/cache.h"
#include "gpu_worker/compile/child.h"
#include "gpu_worker/compile/extension.h"
#include "gpu_worker/compile/extension_manifest.h"
#include "gpu_worker/compile/header_maker.h"
#include "gpu_worker/compile/key_locks.h"
#include "gpu_worker/compile/preforked_builds.h"
#include "gpu_worker/core/worker.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

// Pre-forked build children have the user ids from BuilderOptions::uid plus this on.
inline constexpr std::uint32_t kPreforkedUidOffset = 1024;
inline constexpr std::uint32_t kHeadersAtOnceMax = 4;
// Children that make prefixes have the user ids from BuilderOptions::uid plus this on.
inline constexpr std::uint32_t kHeaderUidOffset = kPreforkedUidOffset - kHeadersAtOnceMax;
// How often a submission is traced: once, and again after each call that does not compile.
inline constexpr int kTracesMax = 16;

struct BuilderOptions {
  std::string scratch;          // parent of scratch directories
  std::uint32_t uid = 0;        // user id of slot 0's children; slot k has uid + k; 0: this process's user
  std::string no_gpu_arch;      // the architecture of device code if the lease's device has none
  std::vector<int> cores = {};  // processors of builds, but not of the making of prefixes; empty: all
  std::uint32_t limit_ms = 120'000;
  std::uint32_t compile_limit_ms = 300'000;  // of one call of load_inline
  std::uint32_t ahead_limit_ms = 30'000;     // of compiling Triton kernels; the run compiles what is left
  std::uint64_t host_bytes = 4ull << 30;     // private memory of each process of a build
  // The same for a build that needed more and runs once again while no other build compiles; 0: none does.
  std::uint64_t alone_host_bytes = 0;
  // The same for the making of a prefix, of which some steps run side by side; 0: as a build.
  std::uint64_t header_host_bytes = 0;
  std::uint32_t headers_at_once = 2;  // prefixes that are made at once, at most kHeadersAtOnceMax
};

// Where a build runs. Slots may build at the same time, each one lease at a time.
struct BuildPlace {
  std::size_t slot = 0;
  bool may_use_all_cores = false;  // and not only BuilderOptions::cores, which a child that was forked ahead keeps to
};

class Builder {
 public:
  // Returns a living zygote for builds for this kind of device; may start one.
  using ZygoteSource = std::function<Expected<std::shared_ptr<Zygote>>(DeviceKind)>;
  Builder(BuilderOptions options, BuildCache cache, ZygoteSource zygote);

  // Builds a lease; blocks. After a stop the build's child is killed and the build fails.
  Expected<Built> build(const Lease& lease, std::stop_token stop = {}, BuildPlace place = {});
  // Queues the usual prefixes of torch's headers that the cache lacks for this kind of device. Does not wait.
  Expected<void> make_headers_ahead(DeviceKind kind);
  // Returns when no prefix of torch's headers is being made or waits to be made.
  void wait_for_headers() { headers_.wait_until_idle(); }
  // Builds for another worker: the same, and the files of a successful build are packed into Built::object.
  Expected<Built> build_object(const Lease& lease, std::stop_token stop = {}, BuildPlace place = {});

 private:
  // What the steps of one build have in common.
  struct Job {
    const Lease& lease;
    std::string arch;
    std::shared_ptr<Zygote> zygote;
    std::stop_token stop;
    BuildPlace place = {};
    std::int64_t end_ms = 0;                   // of the whole build, if the submission has a limit
    std::vector<ReviewFinding> findings = {};  // of the files that are read without a compiler
  };
  Expected<Job> begin(const Lease& lease, std::stop_token stop, BuildPlace place, std::int64_t start_ms) const;
  // Returns how long the guard may read from now on.
  BuildTime time_to_judge(const Lease& lease, const std::stop_token& stop, std::int64_t end_ms) const;
  // Returns how long the steps of a build may take that the submission's own limit alone limits.
  static BuildTime time_of(const Job& job);
  static Hash key_of(const Job& job);
  void adopt(const Job& job, const Hash& key);
  bool is_of_this_toolchain(const Job& job, const std::string& dir);
  std::optional<Built> from_cache(const Job& job, const Hash& key);
  Expected<Built> run(const Job& job, const Hash& key);
  // What a run of the tracing child recorded: the calls that the manifest does not know and those that raised, or the
  // verdict of a job that ends here.
  struct Traced {
    std::optional<Verdict> verdict;
    std::vector<ExtensionCall> calls;
    std::vector<RaisedCall> raised = {};
  };
  Expected<Traced> trace(const Job& job, const ExtensionManifest& known);
  struct ExtensionsBuilt {
    std::optional<Verdict> verdict = {};        // of a failed build
    bool cached = true;                         // nothing had to be compiled
    std::optional<Extensions> extensions = {};  // of a failed build
    bool has_toolchain = false;                 // the compilers are written to the build
  };
  Expected<ExtensionsBuilt> build_extensions(const Job& job, const std::string& toolchain, const std::string& out);
  Expected<bool> compile_calls(const Job& job, const std::vector<ExtensionCall>& calls, const std::string& toolchain,
                               const std::string& out, ExtensionManifest& manifest, ExtensionsBuilt& built);
  struct Compiled {
    std::optional<Verdict> verdict;
    std::optional<CallFailure> failure = {};  // what torch raises in the call
    std::string dir;
    bool cached = false;
    std::string toolchain = {};  // the content of the file "toolchain"
  };
  // Compiles the Triton kernels that the file launches into `out`, within a time limit.
  Expected<void> compile_ahead(const Job& job, const std::string& out);
  Expected<Compiled> compile(const Job& job, const ExtensionCall& call, const std::string& toolchain);
  // Compiles a call into `scratch` and returns the verdict of a compile that failed, or nothing.
  Expected<std::optional<Verdict>> compile_once(const Job& job, const Scratch& scratch, const std::string& headers,
                                                BuildGate::Kind kind);
  bool may_run_alone() const { return options_.alone_host_bytes > options_.host_bytes; }
  bool make_header(const HeaderOrder& order, std::size_t thread, const std::stop_token& stop);
  Expected<Scratch> scratch(const Job& job, const std::string& name) const;
  BuildChild child_of(const Job& job, ChildRole role, std::uint32_t limit_ms, const std::string& shared = {}) const;
  Expected<BuildEnd> run_child(const Job& job, ChildRole role, const Scratch& scratch, std::uint32_t limit_ms,
                               const std::string& shared = {}) const;
  Built outcome(const Job& job, const std::string& dir, bool cached) const;

  BuilderOptions options_;
  BuildCache cache_;
  ZygoteSource zygote_;
  KeyLocks key_locks_;
  PreforkedBuilds preforked_;
  std::mutex toolchain_mutex_;
  std::string toolchain_;  // of this machine, as the last build child reported it
  BuildGate gate_;
  HeaderMaker headers_;  // the last member, because its threads use the others
};

}  // namespace kq::worker
