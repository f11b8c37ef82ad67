#include "gpu_worker/judge/trial/schedule.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace kq::judge {

std::vector<TrialKind> make_schedule(const Trials& trials, const Draw& draw) {
  std::vector<TrialKind> kinds(trials.warmup, TrialKind::warm);
  kinds.insert(kinds.end(), trials.correctness, TrialKind::correctness);
  kinds.insert(kinds.end(), trials.timed, TrialKind::timed);
  if (trials.timed > 0) kinds.insert(kinds.end(), 1 + draw() % (1 + trials.timed / kTimedPerDecoy), TrialKind::decoy);
  if (kinds.empty()) kinds.push_back(TrialKind::correctness);

  // The Fisher-Yates shuffle. The bias of the remainder is below 2^-50 for lists of this length.
  for (std::size_t left = kinds.size(); left > trials.warmup + 1; --left) {
    const std::size_t chosen = trials.warmup + draw() % (left - trials.warmup);
    std::swap(kinds[left - 1], kinds[chosen]);
  }
  return kinds;
}

std::vector<std::uint32_t> draw_watched(std::uint32_t correctness_count, const Draw& draw) {
  std::vector<std::uint32_t> left(correctness_count);
  std::iota(left.begin(), left.end(), 0u);
  const std::size_t watched = std::min<std::size_t>(kWatchedCallsMax, std::max(correctness_count, 2u) - 1);
  while (left.size() > watched) left.erase(left.begin() + static_cast<std::ptrdiff_t>(draw() % left.size()));
  return left;
}

}  // namespace kq::judge
