// In which order an attempt's calls come. Pure.
//
//   warm, warm, ... | correctness, timed and decoy calls, shuffled
//
// Compiling, autotuning and lazy loading happen in the warm calls, which are checked and never timed. Behind them
// nothing that a submission can see tells one kind from another: each call has inputs of its own, every output is
// checked, and a random number of decoys, calls like any other whose time is thrown away, leaves even the number of
// calls unknown.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/submission.h"

namespace kq::judge {

enum class TrialKind { warm, correctness, timed, decoy };

// 64 bits that no child can know beforehand.
using Draw = std::function<std::uint64_t()>;

// Decoys: at least one and at most 1 + timed / kTimedPerDecoy where anything is timed.
inline constexpr std::uint32_t kTimedPerDecoy = 8;

// Never empty: nothing passes unchecked.
std::vector<TrialKind> make_schedule(const Trials& trials, const Draw& draw);

}  // namespace kq::judge
