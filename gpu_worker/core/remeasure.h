// The re-measurement policy: it decides whether the time of an attempt that passed is accepted, and what follows if the
// clocks of the judge and of the child mismatch.
//
// The judge's clock has an error that is constant within a process of the submission and differs between processes. It
// is mostly about 1 us and at times 3 to 5 us. The published time is the larger of the judge's and the child's own
// time, so this error makes short jobs look slower than they are. A job whose published time is clearly above the
// child's own time is therefore measured once more in a fresh process, and the second time counts even if it is larger.
// So a submission that forges its own time to be measured again cannot choose the smaller of two times. If the job's
// limit leaves no time for a second measurement, the first time counts.
//
// If the two clocks mismatch so far that one of them must be wrong (judge/timing/published_time.h), the job is measured
// once more too, and rejected if they mismatch again.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/error.h"
#include "core/plan.h"

namespace kq::worker {

// The published time may exceed the child's own time by this share of the child's own time.
inline constexpr double kExcessShareMax = 0.01;
// A call that takes longer by the child's own time is not measured again, because the clock error is negligible.
inline constexpr double kExcessBelowNs = 1'000'000;
// If the judge waited for a processor during more than this share of the trials, the waiting may be the cause of a
// mismatch. A mismatch needs half of the samples to be off by 50 us (judge/timing/published_time.h), which is 2 % of a
// trial or more: 1 % of all trials.
inline constexpr double kWaitedShareMax = 0.01;
// At most one job in this many is measured again. On a noisy host more jobs have a published time above their own time;
// the policy accepts these jobs as they are.
inline constexpr std::uint64_t kJobsPerRemeasurement = 8;

// Decides for the jobs of one GPU lane, one after another.
class RemeasurePolicy {
 public:
  // Returns whether the job must be measured once more. The caller passes the report of the first measurement of every
  // job, because the policy counts the jobs.
  bool needs_remeasurement(const Report& report);

 private:
  std::uint64_t jobs_ = 0;
  std::uint64_t remeasured_ = 0;
};

enum class Measured { once, twice };

// Decides about a report whose clocks mismatch; does nothing for others. Rejects the submission if its clocks
// mismatched twice. Fails with ErrorKind::our_fault, so that the broker leases the job again, if there was no time for
// a second measurement or if the judge itself had to wait for a processor, which explains the mismatch. A job with
// fewer than kTimedSamplesMin samples keeps its verdict: a few samples may be wrong twice by chance, and the published
// time is not below the judge's.
Expected<void> reject_forged_clock(Report& report, const Trials& trials, Measured measured);

// Fails with ErrorKind::our_fault if a submission was rejected because the GPU was not quiet before calls, while
// processes that are not kq's used the GPU. Processes that the submission started count as kq's.
Expected<void> check_foreign_processes(const Verdict& verdict, const std::optional<Conditions>& conditions);

}  // namespace kq::worker
