// The order of an attempt's calls. All functions are pure.
//
//   warm, warm, ... | correctness, timed and decoy calls, shuffled
//
// Compiling, autotuning and lazy loading happen in the warm calls, which are checked and never timed. After them a
// submission cannot tell one kind of call from another: each call has inputs of its own, and every output is checked.
// A decoy is a call whose time is discarded. The number of decoys is random, so a submission does not know the number
// of calls either.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/submission.h"

namespace kq::judge {

enum class TrialKind { warm, correctness, timed, decoy };

// Returns 64 random bits that no child can predict.
using Draw = std::function<std::uint64_t()>;

// Where any call is timed, there are at least one and at most 1 + timed / kTimedPerDecoy decoys.
inline constexpr std::uint32_t kTimedPerDecoy = 8;

// In so many of the correctness calls, at random places, the child finds out what runs (channel::Page::is_watched).
inline constexpr std::uint32_t kWatchedCallsMax = 2;
// Returns which of the correctness calls are watched: different numbers from 0 on. Of two or more calls at least one is
// not watched, so that no call is known to be watched.
std::vector<std::uint32_t> draw_watched(std::uint32_t correctness_count, const Draw& draw);

// Returns the kinds of an attempt's calls in their order. There is always at least one call, so that no submission
// passes unchecked.
std::vector<TrialKind> make_schedule(const Trials& trials, const Draw& draw);

}  // namespace kq::judge
