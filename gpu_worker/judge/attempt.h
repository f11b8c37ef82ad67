// Evaluates one attempt, from its plan to its report. docs/design/architecture.md describes the steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "core/plan.h"
#include "gpu_worker/channel/warm_up.h"
#include "gpu_worker/judge/timing/calibration.h"
#include "gpu_worker/judge/trial/reference_side.h"
#include "gpu_worker/judge/trial/submission_side.h"
#include "gpu_worker/judge/trial/trials.h"

namespace kq::judge {

// The most overhead that is subtracted from a sample. Null calls that take longer (14 us on a quiet CPU) mean that the
// machine's cores are busy. Samples are too long then; without the limit, a submission that forges its own clock would
// be credited with all the time that other processes took.
inline constexpr double kOverheadMaxNs = 500'000;

// With Sampling::alike a job is measured on a busy machine where the judge waited for a processor during this share of
// the trials, or where at least as many tasks as the lane has processors ran beside the judge.
inline constexpr double kNoisyWaitShare = 0.05;

// Evaluates attempts one after another, and keeps the calibrator and reference children from one to the next.
class Judge {
 public:
  Judge(Device& device, Exits& exits, WaitMode wait_mode, Draw draw, Sampling sampling = Sampling::sparse)
      : device_(device), exits_(exits), wait_mode_(wait_mode), sampling_(sampling), draw_(std::move(draw)) {}

  // Returns a report with a verdict or an error in every case. `channels` holds the sockets of the children that the
  // plan calls fresh, and of the submission.
  Report run(const Plan& plan, Channels channels);
  // Allocates the memory that the next submission needs if it belongs to the same problem. The caller sends the report
  // first.
  void make_ahead(const Plan& last);

 private:
  // Asks the pool to kill no child (gpu_worker/channel/warm_up.h), while it has a value.
  using Preparing = std::optional<channel::ScopedMark>;
  channel::WarmUpPage* warm_up_page() const;  // null where no worker shares one
  void begin(Preparing& preparing) const;
  Step<Verdict> attempt(const Plan& plan, Channels channels, Report& report);
  Step<void> apply(ProblemCertificate certificate, Plan& plan, Report& report) const;
  Step<Verdict> judge_one(const Plan& plan, std::uint64_t seed, Layout layout, sys::Fd channel, Preparing& preparing,
                          Report& report);
  Step<Verdict> judge_several(const Plan& plan, std::uint64_t seed, std::vector<std::uint32_t> workloads,
                              sys::Fd channel, Preparing& preparing, Report& report);
  Step<void> certify_all(Plan& plan, std::uint64_t seed, std::span<const std::uint32_t> workloads, Report& report);
  Step<std::vector<Layout>> describe_all(const Plan& plan, std::uint64_t seed, std::vector<std::uint32_t>& workloads,
                                         Report& report);
  // How a workload is judged where the problem has several.
  struct Among {
    std::size_t workloads = 1;  // those that this pass judges
    bool is_last = false;       // of this pass: the same process runs all of them
    bool is_timing = false;     // earlier calls of this attempt have checked the workload
    // The last time of a call of the reference on this workload; replaced at the end.
    std::int64_t* reference_ns = nullptr;
    std::uint64_t touch_bytes = 0;  // the size of calls that the overhead is measured for; 0: that of the workload
  };
  Step<Verdict> judge_workload(const Plan& plan, std::uint64_t seed, std::uint32_t workload, const Among* among,
                               SubmissionSide& submission, Preparing& preparing, Report& report);
  Step<Overhead> calibrate(const Plan& plan, const SubmissionSide& submission, std::int64_t age_max_ns);
  Step<void> open_children(const Plan& plan, Channels& channels);
  Step<Measurement> measure(const Plan& plan, SubmissionSide& submission, const TimedTrials& times,
                            const Overhead& before, const Overhead& after, Report& report);
  bool is_noisy(const TimedTrials& times, std::int64_t waited_us, std::int64_t trials_us) const;
  Step<double> burst_call_ns(const Plan& plan, SubmissionSide& submission, const TimedTrials& times);

  Device& device_;
  Exits& exits_;
  WaitMode wait_mode_;
  Sampling sampling_;
  Draw draw_;
  std::map<std::uint32_t, std::unique_ptr<Calibrator>> calibrators_;  // by Plan::calibrator
  std::unique_ptr<ReferenceSide> reference_;
  std::uint64_t touch_bytes_ = 0;          // of the workload that is judged now
  std::vector<Layout> layouts_;            // of the workloads of the last attempt
  std::optional<SubmissionMemory> ahead_;  // for the next submission
};

}  // namespace kq::judge
