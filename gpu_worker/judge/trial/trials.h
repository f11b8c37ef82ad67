// The trials of an attempt, one after another: inputs of its own for each, the reference's call, the submission's call,
// all outputs checked.
//
// Theory of operation. Three processes take turns, and nothing is measured but the brackets of timed trials. So while
// the judge checks what the submission made of one trial, the reference computes the next one's answers and the
// submission stages its call:
//
//   judge        | bracket n | check n    | bracket n+1 ...
//   reference    |           | answer n+1 |
//   submission   | call n    | stage n+1  | call n+1 ...
//
// Where answers are short the command that makes one makes some for the trials behind it, too. Of a trial whose
// reference is timed the inputs are drawn meanwhile; then its reference is called, alone, before it is staged. What is
// not timed comes first while a child of ours makes itself warm (concurrent_warm_ups.h): a submission can gain nothing
// by knowing, every output of every kind is checked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/plan.h"
#include "gpu_worker/judge/check/input_change.h"
#include "gpu_worker/judge/timing/outlier_filter.h"
#include "gpu_worker/judge/trial/reference_side.h"
#include "gpu_worker/judge/trial/schedule.h"
#include "gpu_worker/judge/trial/submission_side.h"

namespace kq::judge {

// A trial during which somebody else had the device, or that was said to be done while the judge had it, is void and
// comes again: nothing is gained by one. An attempt is rejected after this many, and one more for each kTrialsPerVoid
// of its trials: a host that was busy for a moment looks the same, work of the submission's own is there in every
// trial.
inline constexpr std::uint32_t kVoidTrialsMax = 3;
inline constexpr std::uint32_t kTrialsPerVoid = 4;
// Timed trials that a child of ours has disturbed by making its context come again for nothing. After so many of an
// attempt that child is waited for.
inline constexpr std::uint32_t kWarmUpRepeatsMax = 64;
// A reference that somebody has disturbed is timed again in the next timed trial: to wait for him takes ten times as
// long, and 0.5 s where he loads kernels (H200). But calls that take so long are hardly ever undisturbed.
inline constexpr std::int64_t kReferenceLongNs = 10'000'000;
// The reference has kTimedSamplesMin samples first, and then one for so many of the submission's: it changes with the
// machine alone.
inline constexpr std::uint32_t kTimedPerReference = 8;
// Where fewer of its samples are undisturbed, they are taken again in the quiet.
inline constexpr std::size_t kReferencesMin = 3;
// Calls beside which the memory was slow are made again, once, when it is quick again: to clear 140 GB takes the driver
// 0.36 s.
inline constexpr std::int64_t kSlowMemoryLimitNs = 600'000'000;
// Answers that take longer together are not asked for in one command: a submission that is wrong in the next trial
// needs none of them.
inline constexpr std::int64_t kCommandNsMax = 4'000'000;

struct TimedTrials {
  CallTimes submission;
  CallTimes reference;
};

class TrialRun {
 public:
  TrialRun(Device& device, ReferenceSide& reference, SubmissionSide& submission, const Plan& plan, const Draw& draw);

  // Answers of the trials to come, where they are short or nobody knows yet, as long as there is time and room.
  Step<void> make_ahead_while(const std::function<bool()>& has_time);
  // Once it ran: no trial had inputs of its own.
  bool inputs_never_changed() const { return input_change_.never_changed(); }
  // Once. The reference is at rest afterwards, however it ended.
  Step<TimedTrials> run();

 private:
  struct Trial {
    std::uint32_t number = 0;
    TrialKind kind = TrialKind::warm;
    bool times_reference = false;
    bool is_ahead = false;        // its answer is among those made ahead when it gets ready
    bool during_warm_up = false;  // a child of ours was making itself warm when it began
    Seeds seeds;
    std::uint32_t poison = 0;
    std::uint64_t place = 0;

    bool is_timed() const { return kind == TrialKind::timed; }
  };
  enum class TrialOutcome { counts, again, too_many_voids };

  Step<void> run_all();
  std::optional<Trial> next();
  Trial make(TrialKind kind);
  Seeds draw_seeds() const { return {.inputs = draw_(), .calls = draw_()}; }
  Step<void> begin(Trial& trial);
  Step<void> finish_preparation(const Trial& trial);
  Step<void> time_reference(const Trial& trial);
  std::size_t missing_references() const;
  double timed_ns() const;
  std::vector<Seeds> draw_ahead(std::size_t wanted) const;
  static Evidence void_evidence(const Trial& trial, std::int64_t occupancy_gap_ns);
  TrialOutcome classify(const Trial& trial, const SubmissionSide::CallResult& called);
  std::size_t drop_outliers(bool is_enough);
  std::size_t drop_slow();
  std::size_t drop_reference_outliers();
  std::size_t drop_call_outliers(bool is_enough);
  bool is_warm_up_running() const;
  bool ran_during_warm_up(const Trial& trial) const { return trial.during_warm_up || is_warm_up_running(); }
  // Of so few samples each moves the median, and nobody knows which one was disturbed.
  bool must_avoid_warm_ups() const { return plan_.trials.timed < kTimedSamplesMin; }
  bool is_void(std::int64_t occupancy_gap_ns) const {
    return occupancy_gap_ns > submission_.overhead().occupancy_gap_ns + kForeignGapNs;
  }
  void record(const Trial& trial, const SubmissionSide::CallResult& called);
  SubmissionSide::Trial submission_trial(const Trial& trial) const;

  Device& device_;
  ReferenceSide& reference_;
  SubmissionSide& submission_;
  const Plan& plan_;
  const Draw& draw_;
  std::vector<TrialKind> kinds_left_;  // kinds to come, the next one first
  std::size_t voids_max_ = 0;
  std::uint32_t next_number_ = 0;
  std::uint32_t void_count_ = 0;
  std::uint32_t warm_up_repeats_ = 0;
  std::int64_t reference_ns_ = 0;  // its last time, for limits
  TimedTrials times_;
  InputChange input_change_;
  bool has_repeated_all_ = false;
  bool has_repeated_references_ = false;
  bool has_waited_for_memory_ = false;
};

// Of who says done while the judge still has the device.
Evidence early_evidence(std::uint32_t trial);

// Of a submission's call whose reference took so long.
std::int64_t call_limit_ms(const Limits& limits, std::int64_t reference_ns);

}  // namespace kq::judge
