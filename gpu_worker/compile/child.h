// Runs one child of a build and turns its end into a verdict.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "core/messages.h"
#include "core/plan.h"
#include "gpu_worker/compile/preforked_builds.h"
#include "gpu_worker/machine/scratch.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

inline constexpr std::uint64_t kBuildScratchBytes = 1ull << 30;
inline constexpr std::uint64_t kBuildMarginBytes = 256ull << 20;  // MARGIN_BYTES in harness/sandbox/cgroup.py
// How much a build child may write to its directories on the host's disk; a precompiled header of torch has 0.5 GB. The
// limit is checked a few times a second, so more may be there for a moment.
inline constexpr DirectoryLimit kBuildDiskMax{.bytes = 2ull << 30, .entries = 20'000};

struct BuildChild {
  ChildRole role = ChildRole::build;
  std::string arch;
  std::string shared = {};  // a directory that the child may read; empty: none
  std::uint32_t uid = 0;
  std::uint64_t host_bytes = 0;
  std::uint32_t limit_ms = 0;
  std::uint32_t whole_limit_ms = 0;  // the limit that limit_ms is the rest of, for the verdict
};

struct BuildEnd {
  std::optional<Verdict> verdict = {};  // set if the child took too long or too much memory, or died
  bool was_killed_for_memory = false;   // the kernel killed a process of the child for its memory
};

// Forks a child and waits for its end. A stop kills the child and fails.
Expected<BuildEnd> run_build_child(const BuildChild& child, const Lease& lease, const Scratch& scratch, Zygote& zygote,
                                   const std::stop_token& stop);
// The same for a pre-forked child that has its assignment. `scratch` is its directory.
Expected<BuildEnd> run_preforked_build(const BuildChild& child, PreforkedBuild& preforked, const Scratch& scratch,
                                       const std::stop_token& stop);

// Make the verdicts of a build.
Verdict build_ended(VerdictName name, std::string reason, std::string message);
Verdict build_timed_out(std::int64_t limit_ms);
Verdict build_out_of_memory(std::uint64_t host_bytes);

}  // namespace kq::worker
