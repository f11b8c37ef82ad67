// One child of a build, from its order to its end: what its ending says, in the words of verdicts.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "core/messages.h"
#include "core/plan.h"
#include "gpu_worker/compile/ready_builds.h"
#include "gpu_worker/machine/scratch.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

inline constexpr std::uint64_t kBuildScratchBytes = 1ull << 30;
// What its directories on the host's disk may hold: a precompiled header of torch's has 0.5 GB. Looked at a few times a
// second, so more may lie there for a moment.
inline constexpr DirectoryLimit kBuildDiskMax{.bytes = 2ull << 30, .entries = 20'000};

struct BuildChild {
  ChildRole role = ChildRole::build;
  std::string arch;
  std::string shared = {};  // a directory it may read; empty: none
  std::uint32_t uid = 0;
  std::uint64_t host_bytes = 0;
  std::uint32_t limit_ms = 0;
  std::uint32_t whole_limit_ms = 0;  // that this is what is left of; for the verdict
};

struct BuildEnd {
  std::optional<Verdict> verdict = {};  // it took too long, or too much memory, or died
  bool was_killed_for_memory = false;   // something of it was, and it lived on to tell of it in its way
};

// Blocking. A stop kills it and ends in an Error.
Expected<BuildEnd> run_build_child(const BuildChild& child, const Lease& lease, const Scratch& scratch, Zygote& zygote,
                                   const std::stop_token& stop);
// The same in one that waited and has its assignment; its directory has been taken over.
Expected<BuildEnd> run_ready_build(const BuildChild& child, ReadyBuild& ready, const Scratch& scratch,
                                   const std::stop_token& stop);

Verdict build_ended(VerdictName name, std::string reason, std::string message);
Verdict build_timed_out(std::int64_t limit_ms);
Verdict build_out_of_memory(std::uint64_t host_bytes);

}  // namespace kq::worker
