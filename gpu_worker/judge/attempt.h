// One attempt from its plan to its report: the straight line of judging. See docs/design/architecture.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "core/plan.h"
#include "gpu_worker/judge/timing/calibration.h"
#include "gpu_worker/judge/trial/reference_side.h"
#include "gpu_worker/judge/trial/submission_side.h"
#include "gpu_worker/judge/trial/trials.h"

namespace kq::judge {

// More is not taken off a sample, whatever null calls took: where they take longer (14 us on a quiet CPU), the
// machine's cores have other work. Times are then too long; without a limit a submission that lies about its own clock
// would be given all that its neighbours took.
inline constexpr double kOverheadMaxNs = 500'000;

// Judges attempts one after another, and keeps calibrators and reference from one to the next.
class Judge {
 public:
  Judge(Device& device, Exits& exits, WaitMode wait_mode, Draw draw)
      : device_(device), exits_(exits), wait_mode_(wait_mode), draw_(std::move(draw)) {}

  // Always an answer. `channels` are those of the children that the plan calls fresh, and the submission's.
  Report run(const Plan& plan, Channels channels);
  // Once the report is out: what the next submission will need if it is to the same problem.
  void make_ahead(const Plan& last);

 private:
  Step<Verdict> attempt(const Plan& plan, Channels channels, Report& report);
  Step<void> open_children(const Plan& plan, Channels& channels);
  Step<void> load_reference(const Plan& plan, std::uint64_t seed);
  Step<double> burst_call_ns(const Plan& plan, SubmissionSide& submission, const TimedTrials& times);

  Device& device_;
  Exits& exits_;
  WaitMode wait_mode_;
  Draw draw_;
  std::map<std::uint32_t, std::unique_ptr<Calibrator>> calibrators_;  // by Plan::calibrator
  std::unique_ptr<ReferenceSide> reference_;
  std::optional<SubmissionMemory> ahead_;
};

}  // namespace kq::judge
