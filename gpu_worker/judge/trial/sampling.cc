// The part of TrialRun that decides how often both sides are timed and warmed.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/trial/trials.h"

namespace kq::judge {
namespace {

// Returns how many tasks run or are ready to run on this machine without the calling thread, or nothing where the
// kernel does not tell (proc_loadavg(5), the fourth field: "3/412").
std::optional<std::uint32_t> runnable_tasks() {
  std::ifstream file("/proc/loadavg");
  std::string skipped;
  std::uint32_t runnable = 0;
  if (!(file >> skipped >> skipped >> skipped >> runnable)) return std::nullopt;
  return runnable - std::min<std::uint32_t>(runnable, 1);
}

}  // namespace

void TrialRun::share_samples(std::size_t workloads) {
  if (workloads > 1) first_references_ = kReferencesOfManyMin;
  steady_trials_max_ = std::max(kSteadyTrialsMax / static_cast<std::uint32_t>(workloads), 1u);
  steady_limit_ns_ = kSteadyLimitNs / static_cast<std::int64_t>(workloads);
}

// Returns whether another warm trial must come before the others. A submission that becomes faster all the time gains
// nothing, because the number of warm trials and their time are limited.
bool TrialRun::must_warm() const {
  if (sampling_ == Sampling::sparse || plan_.trials.timed == 0 || times_.submission.size() > 0) return false;
  if (steady_submission_.is_steady() && steady_reference_.is_steady()) return false;
  if (steady_trials_ >= steady_trials_max_) return false;
  return steady_trials_ == 0 || clock_ns() - steady_since_ns_ < steady_limit_ns_;
}

// Returns whether the next timed trial times the reference.
bool TrialRun::times_reference() const {
  const std::size_t timed = times_.submission.size();
  const std::size_t wanted = sampling_ == Sampling::alike ? timed + 1 : first_references_ + timed / kTimedPerReference;
  return times_.reference.size() < wanted;
}

void TrialRun::count_busy_tasks() {
  const auto tasks = runnable_tasks();
  if (!tasks) return;
  times_.busy_tasks += (*tasks - times_.busy_tasks) / ++busy_counts_;
}

}  // namespace kq::judge
