// One attempt from its plan to its report: the straight line of judging. See docs/architecture.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "core/plan.h"
#include "gpu_worker/judge/calibration.h"
#include "gpu_worker/judge/reference_side.h"
#include "gpu_worker/judge/schedule.h"
#include "gpu_worker/judge/submission_side.h"

namespace kq::judge {

// A trial during which somebody else had the device is void and comes again: nothing is gained by one. An attempt is rejected after this
// many, and one more for each kTrialsPerVoid of its trials: a host that was busy for a moment looks the same, work of the submission's
// own is there in every trial.
inline constexpr std::uint32_t kVoidTrialsMax = 3;
inline constexpr std::uint32_t kTrialsPerVoid = 4;
// Trials that are void beside a child of ours that was making itself warm come again for nothing, so often in an attempt.
inline constexpr std::uint32_t kDisturbedMax = 64;
// The reference has kTimedSamplesMin samples first, and then one for so many of the submission's: it changes with the machine alone.
inline constexpr std::uint32_t kTimedPerReference = 4;
// What more than the absence of any null call is somebody else's doing: the switch to another context and back takes 140 us and more, the
// longest gap of an undisturbed hold 12 us (measured on an H200).
inline constexpr std::int64_t kAbsenceNs = 60'000;

// More is not taken off a sample, whatever null calls took: where they take longer (14 us on a quiet CPU), the machine's cores have other work. Times
// are then too long; without a limit a submission that lies about its own clock would be given all that its neighbours took.
inline constexpr double kOverheadMaxNs = 500'000;

// Judges attempts one after another, and keeps calibrators and reference from one to the next.
class Judge {
 public:
  Judge(Device& device, Exits& exits, Waiting waiting, Draw draw)
      : device_(device), exits_(exits), waiting_(waiting), draw_(std::move(draw)) {}

  // Always an answer. `channels` are those of the children that the plan calls fresh, and the submission's.
  Report run(const Plan& plan, Channels channels);

 private:
  struct Times {
    std::vector<std::int64_t> brackets_ns;
    std::vector<std::int64_t> events_ns;  // what the child said of the same calls
  };
  struct TimedTrials {
    Times submission;
    Times reference;
  };
  struct Order {
    std::uint32_t number = 0;
    bool is_timed = false;         // its times count
    bool times_reference = false;
  };
  struct Timed {  // of one trial, raw
    std::optional<ReferenceSide::Called> reference;
    SubmissionSide::Called submission;
  };
  Step<Verdict> attempt(const Plan& plan, Channels channels, Report& report);
  Step<void> open_children(const Plan& plan, Channels& channels);
  Step<void> load_reference(const Plan& plan, std::uint64_t seed);
  Step<TimedTrials> run_trials(const Plan& plan, SubmissionSide& submission);
  Step<double> burst_share(const Plan& plan, SubmissionSide& submission, const TimedTrials& times);
  Step<Timed> run_trial(const Plan& plan, SubmissionSide& submission, const Order& order);

  Device& device_;
  Exits& exits_;
  Waiting waiting_;
  Draw draw_;
  std::map<std::uint32_t, std::unique_ptr<Calibrator>> calibrators_;  // by Plan::calibrator
  std::unique_ptr<ReferenceSide> reference_;
  std::int64_t reference_ns_ = 0;  // its last time, for limits
};

}  // namespace kq::judge
