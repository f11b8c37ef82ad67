// Runs the trials of an attempt, one after another. Each trial has inputs of its own, a call of the reference, a call
// of the submission, and a check of all outputs.
//
// Theory of operation. Three processes take turns, and only the intervals of timed trials are measured. So while the
// judge checks the outputs of one trial, the reference computes the next trial and the submission stages its call:
//
//   judge        | interval n | check n       | interval n+1 ...
//   reference    |            | compute n+1   |
//   submission   | call n     | stage n+1     | call n+1 ...
//
// Where the reference is quick, one command computes several trials ahead. For a trial whose reference is timed, only
// the inputs are drawn during the check; then the reference is called, while no other process works, and the submission
// stages its call afterwards. While a warm-up runs (concurrent_warm_ups.h), trials that are not timed come first. A
// submission gains nothing by knowing that, because every output of every trial is checked. Other children may load
// kernels until the first trial whose time counts (gpu_worker/channel/warm_up.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/plan.h"
#include "gpu_worker/channel/warm_up.h"
#include "gpu_worker/judge/check/value_change.h"
#include "gpu_worker/judge/timing/concurrent_warm_ups.h"
#include "gpu_worker/judge/timing/outlier_filter.h"
#include "gpu_worker/judge/timing/steadiness.h"
#include "gpu_worker/judge/trial/constant_outputs.h"
#include "gpu_worker/judge/trial/reference_side.h"
#include "gpu_worker/judge/trial/schedule.h"
#include "gpu_worker/judge/trial/submission_side.h"

namespace kq::judge {

// A trial is void, and is repeated, where another process had the device or where the child reported it as done while
// the judge still had the device. An attempt with more void trials than kVoidTrialsMax, plus one for each
// kTrialsPerVoid of its trials, is rejected. A host that is busy for a moment makes a trial void as well, but
// background work of a submission does so in every trial.
inline constexpr std::uint32_t kVoidTrialsMax = 3;
inline constexpr std::uint32_t kTrialsPerVoid = 4;
// Timed trials that a concurrent warm-up has lengthened are repeated and do not count as void. After this many of them
// the judge waits until no warm-up runs.
inline constexpr std::uint32_t kWarmUpRepeatsMax = 64;
// A reference call that a warm-up has lengthened is usually timed again in the next timed trial, because waiting for
// the warm-up takes ten times as long (H200). Reference calls longer than this hardly ever escape a running warm-up, so
// for them the judge waits.
inline constexpr std::int64_t kReferenceLongNs = 10'000'000;
// The reference is timed in each of the first kTimedSamplesMin timed trials, and then once for this many samples of the
// submission, because its time changes only with the machine.
inline constexpr std::uint32_t kTimedPerReference = 8;
// Where the outlier filter leaves fewer samples of the reference, they are repeated while no warm-up runs.
inline constexpr std::size_t kReferencesMin = 3;
// Of several workloads each has as many samples of the reference at first, in place of kTimedSamplesMin: a sample takes
// 0.8 ms, mostly until the GPU has switched to the reference and back (H200), and the job's time is a mean of them all.
inline constexpr std::size_t kReferencesOfManyMin = 4;
// How long the judge waits for the device's memory to become as fast as usual, before it repeats calls during which the
// memory was slow. The driver takes 0.36 s to clear 140 GB.
inline constexpr std::int64_t kSlowMemoryLimitNs = 600'000'000;
// One command computes no more trials ahead than fit into this time, because they are wasted where the submission fails
// in the next trial.
inline constexpr std::int64_t kCommandNsMax = 4'000'000;

// How often the reference is timed.
//   sparse  In the first timed trials, and then once for kTimedPerReference samples: for a GPU, whose times change
//   little. alike   In every timed trial, as the submission is. Before the timed trials both are called until they are
//   steady
//           (timing/steadiness.h). For a CPU: there the first calls of a process take several times as long as later
//           ones, and a busy machine changes times from one moment to the next.
enum class Sampling { sparse, alike };

// The most warm trials that come before the timed ones until both sides are steady, and the time after which no further
// one begins. Several workloads share both (TrialRun::share_samples).
inline constexpr std::uint32_t kSteadyTrialsMax = 24;
inline constexpr std::int64_t kSteadyLimitNs = 300'000'000;

// The measurements of an attempt's timed trials.
struct TimedTrials {
  CallTimes submission;
  CallTimes reference;
  // The mean number of tasks of the machine that ran or were ready to run after a timed call, without the judge;
  // 0: unknown.
  double busy_tasks = 0;
};

// Runs the trials of one attempt.
class TrialRun {
 public:
  TrialRun(Device& device, ReferenceSide& reference, SubmissionSide& submission, const Plan& plan, const Draw& draw,
           Sampling sampling = Sampling::sparse);

  // Leaves out the check that the reference agrees with itself, and the call that tells its time. May be called before
  // run().
  void trust_reference(std::int64_t reference_ns);
  // Makes these trials those of one of so many workloads, which share what one workload may take to become steady, and
  // each have kReferencesOfManyMin samples of the reference at first. May be called before run().
  void share_samples(std::size_t workloads);
  // Makes the reference compute trials ahead while has_time() returns true and there is room. Does nothing where the
  // reference is known to be slow.
  Step<void> make_ahead_while(const std::function<bool()>& has_time);
  // Returns the last time of a call of the reference; 0: none was timed.
  std::int64_t reference_ns() const { return reference_ns_; }
  // Returns whether all trials of run() had the same inputs.
  bool inputs_never_changed() const { return inputs_change_.never_changed(); }
  // Returns whether the reference returned the same outputs in all of several trials, although the inputs differed.
  bool outputs_are_constant() const { return outputs_change_.are_constant() && !inputs_change_.never_changed(); }
  // Returns whether the submission returned the same outputs in all of several trials, although most of the expected
  // ones differed. Looked at only where the plan says that a constant passes.
  bool submission_is_constant() const { return constants_.is_constant(); }
  // Runs all trials; may be called once. In every case the reference has no command left to answer afterwards.
  Step<TimedTrials> run();

 private:
  struct Trial {
    std::uint32_t number = 0;
    TrialKind kind = TrialKind::warm;
    bool times_reference = false;
    bool is_for_steadiness = false;         // a warm trial that is timed to tell whether both sides are steady
    bool is_ahead = false;                  // the reference computes it ahead
    ConcurrentWarmUps::Seen warm_ups = {};  // just before the submission's call
    bool is_watched = false;                // the child finds out what runs
    Seeds seeds;
    std::uint32_t poison = 0;
    std::uint64_t slot_draw = 0;

    bool is_timed() const { return kind == TrialKind::timed; }
    // Returns whether the submission prepares the call while the reference computes the trial. The inputs then have
    // the form of the trial before; the first trial may follow one of another workload.
    bool is_staged_early() const { return !times_reference && number > 0; }
  };
  // What happens to a trial after its call: it counts, is repeated, or was one void trial too many.
  enum class TrialOutcome { counts, again, too_many_voids };

  Step<void> run_all();
  Step<void> observe_constants(const SubmissionSide::CallResult& called);
  std::optional<Trial> next();
  Trial make(TrialKind kind);
  Trial repeat(const Trial& trial);
  Seeds draw_seeds() const { return {.inputs = draw_(), .calls = draw_()}; }
  Step<void> begin(Trial& trial);
  Step<void> finish_preparation(const Trial& trial);
  Step<void> time_reference(const Trial& trial);
  bool times_reference() const;
  bool must_warm() const;
  void count_busy_tasks();
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
  ConcurrentWarmUps::Seen look_at_warm_ups() const;
  bool ran_during_warm_up(const ConcurrentWarmUps::Seen& before) const;
  // Returns whether timed trials must wait until no warm-up runs. Of few samples each moves the median, and the outlier
  // filter cannot tell which one is an outlier.
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
  Sampling sampling_;
  std::optional<channel::ScopedMark> untimed_;  // from run() to the first trial whose time counts
  std::vector<TrialKind> kinds_left_;           // the next one first
  std::vector<std::uint32_t> watched_;          // which of the correctness trials are watched
  std::uint32_t correctness_count_ = 0;         // correctness trials that were made, without repetitions
  std::size_t voids_max_ = 0;
  std::uint32_t next_number_ = 0;
  std::uint32_t void_count_ = 0;
  std::uint32_t warm_up_repeats_ = 0;
  std::int64_t reference_ns_ = 0;  // the last time of the reference, from which limits follow
  TimedTrials times_;
  Steadiness steady_submission_;
  Steadiness steady_reference_;
  std::uint32_t steady_trials_ = 0;
  std::size_t first_references_ = kTimedSamplesMin;  // wanted in the first timed trials
  std::uint32_t steady_trials_max_ = kSteadyTrialsMax;
  std::int64_t steady_limit_ns_ = kSteadyLimitNs;
  std::int64_t steady_since_ns_ = 0;  // when the first trial for steadiness was made; 0: none was
  std::uint32_t busy_counts_ = 0;     // how often tasks were counted
  ValueChange inputs_change_;
  ValueChange outputs_change_;
  ConstantOutputs constants_;
  bool is_reference_trusted_ = false;
  bool has_repeated_all_ = false;
  bool has_repeated_references_ = false;
  bool has_waited_for_memory_ = false;
};

// Returns the evidence against a child that reports a call as done while the judge still has the device.
Evidence early_evidence(std::uint32_t trial);

// Returns the limit of a submission's call, given the time of the reference.
std::int64_t call_limit_ms(const Limits& limits, std::int64_t reference_ns);

}  // namespace kq::judge
