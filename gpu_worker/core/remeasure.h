// Re-measurement policy: whether the time of an attempt that passed is accepted, and what follows if clocks mismatch.
//
// The judge's clock has an error that is constant within a process of the submission and differs between processes. It
// is mostly about 1 us and at times 3 to 5 us. The published time is the larger of the judge's and the child's own
// time, so this error makes short jobs look slower than they are. A job whose published time is clearly above the
// child's own time is therefore measured once more in a fresh process, and the second time counts, whatever it is: a
// submission that forges its own time gains nothing by the choice. If the job's limit leaves no time for that, the
// first time counts.
//
// If the two clocks mismatch so far that one of them must be wrong (judge/timing/published_time.h), the job is measured
// once more too, and rejected if they mismatch again.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/error.h"
#include "core/plan.h"

namespace kq::worker {

inline constexpr double kExcessShareMax = 0.01;  // of the child's own time, by which the published time may exceed it
inline constexpr double kExcessBelowNs = 1'000'000;  // the clock error is negligible for longer calls
// The judge may have waited for a processor during this share of the trials. When clocks mismatch, half of the samples
// are 50 us off, which is 2 % of a trial or more.
inline constexpr double kWaitedShareMax = 0.01;
// One job in so many is measured again at most. On a noisy host more would exceed their own time; these are accepted.
inline constexpr std::uint64_t kJobsPerRemeasurement = 8;

// Decides for the jobs of one GPU lane, one after another.
class RemeasurePolicy {
 public:
  // Whether the job must be measured once more. To be called with the report of the first attempt of every job, because
  // jobs are counted.
  bool needs_remeasurement(const Report& report);

 private:
  std::uint64_t jobs_ = 0;
  std::uint64_t remeasured_ = 0;
};

enum class Measured { once, twice };

// Decides about a report whose clocks mismatch; does nothing for others. Rejects the submission if its clocks
// mismatched twice. Fails with ErrorKind::our_fault, so that the job is tried again, if there was no time for a second
// measurement or if the judge itself had to wait for a processor, which explains the mismatch. A job with fewer than
// kTimedSamplesMin samples keeps its verdict: a few samples may be wrong twice by chance, and the published time is not
// below the judge's.
Expected<void> reject_forged_clock(Report& report, const Trials& trials, Measured measured);

// Fails with ErrorKind::our_fault if a submission was rejected because the GPU was not quiet before calls, while
// processes that are not kq's used the GPU. Processes that the submission started count as kq's.
Expected<void> check_foreign_processes(const Verdict& verdict, const std::optional<Conditions>& conditions);

}  // namespace kq::worker
