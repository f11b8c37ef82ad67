// Runs one child of a build and turns its end into a verdict.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/messages.h"
#include "core/plan.h"
#include "gpu_worker/compile/preforked_builds.h"
#include "gpu_worker/machine/scratch.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

inline constexpr std::uint64_t kBuildScratchBytes = 1ull << 30;
// The private memory that no honest source makes a compiler take: ten times what torch's headers do.
inline constexpr std::uint64_t kWastefulBuildBytes = 32ull << 30;
inline constexpr std::uint64_t kBuildMarginBytes = 256ull << 20;  // MARGIN_BYTES in harness/sandbox/cgroup.py
// How much a build child may write to its directories on the host's disk; a precompiled header of torch has 0.5 GB. The
// limit is checked a few times a second, so a child can pass it for a moment before the child is killed.
inline constexpr DirectoryLimit kBuildDiskMax{.bytes = 2ull << 30, .entries = 20'000};

// How much memory a build may take in all, if each of its processes may take `host_bytes` of private memory.
constexpr std::uint64_t bytes_of_build(std::uint64_t host_bytes) {
  return host_bytes + kBuildScratchBytes + kBuildMarginBytes;
}

// What a child may use and how long it may run.
struct BuildChild {
  ChildRole role = ChildRole::build;
  std::string arch;
  std::string shared = {};           // a directory that the child may read; empty: none
  std::uint32_t uid = 0;             // the user that the child runs as; 0: the worker's user
  std::uint64_t host_bytes = 0;      // limit of private memory of each process of the child
  std::vector<int> cores = {};       // processors of the child; empty: all
  std::uint32_t limit_ms = 0;        // how long this child may run: the rest of the build's limit
  std::uint32_t whole_limit_ms = 0;  // the limit of the whole build, which the verdict of a timeout names
};

struct BuildEnd {
  // Set if the child passed its limit of time, memory or disk, or if its exit status was not 0.
  std::optional<Verdict> verdict = {};
  bool was_killed_for_memory = false;  // whether Linux killed a process of the child because of its memory limit
};

// Forks a child and waits for its end. If `stop` is requested, kills the child and fails.
Expected<BuildEnd> run_build_child(const BuildChild& child, const Lease& lease, const Scratch& scratch, Zygote& zygote,
                                   const std::stop_token& stop);
// Waits in the same way for the end of a pre-forked child that has received its assignment. `scratch` is the directory
// of that child.
Expected<BuildEnd> run_preforked_build(const BuildChild& child, PreforkedBuild& preforked, const Scratch& scratch,
                                       const std::stop_token& stop);

// Return the verdicts of a build that did not succeed.
Verdict build_ended(VerdictName name, std::string reason, std::string_view message);
Verdict build_timed_out(std::int64_t limit_ms);
Verdict build_out_of_memory(std::uint64_t host_bytes);
// Returns the verdict on a build that ran out of memory although it ran alone with `host_bytes`: out_of_memory, which
// is the submission's fault, if `host_bytes` is at least kWastefulBuildBytes; else too_large, which is nobody's fault.
Verdict build_beyond_memory(std::uint64_t host_bytes);

}  // namespace kq::worker
