// The submission child: its memory, its timed calls, and the checks after each call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu_worker/judge/check/appearance.h"
#include "gpu_worker/judge/check/input_copies.h"
#include "gpu_worker/judge/check/memory_checks.h"
#include "gpu_worker/judge/check/truth.h"
#include "gpu_worker/judge/child/failure.h"
#include "gpu_worker/judge/child/window.h"
#include "gpu_worker/judge/timing/calibration.h"
#include "gpu_worker/judge/timing/timed_interval.h"
#include "gpu_worker/judge/trial/outputs.h"
#include "gpu_worker/judge/trial/reference_side.h"

namespace kq::judge {

// The device memory of one submission child. No other child has ever mapped it.
class SubmissionMemory {
 public:
  // Makes memory that is large enough for each of the layouts.
  static Step<SubmissionMemory> make(Device& device, std::span<const Layout> layouts, const Plan& plan);
  // Makes the memory for a later child. Returns nothing without a GPU, where the memory is large, or where there is no
  // room.
  static std::optional<SubmissionMemory> make_ahead(Device& device, std::span<const Layout> layouts, const Plan& plan);
  // Returns whether a submission with these layouts and this plan needs memory of exactly these sizes.
  bool fits(Device& device, std::span<const Layout> layouts, const Plan& plan) const;

  Window window;                     // calls are made in all of its slots; the first slot has the states
  std::unique_ptr<Memory> snapshot;  // the outputs as they were at the end of the timed interval

 private:
  struct Sizes {
    std::uint64_t window = 0;
    std::uint64_t slots = 1;
    std::uint64_t snapshot = 0;
    std::uint64_t arena = 0;
    friend bool operator==(const Sizes&, const Sizes&) = default;
  };
  static Sizes sizes(const Device& device, std::span<const Layout> layouts, const Plan& plan);
  Sizes sizes_;
};

// An occupancy gap that exceeds that of null calls by more than this is the work of another process. A switch to
// another context and back takes at least 140 us, and the longest gap without one was 12 us (H200).
inline constexpr std::int64_t kForeignGapNs = 60'000;

// Gives commands to the submission child and checks its calls against the reference's current trial. Commands and
// checks that come in two halves let the judge, the device and other children work meanwhile.
class SubmissionSide {
 public:
  // Attaches a window for the reference's workload, with room for each of `layouts`, and measures the overhead, while
  // the child still runs only kq's own code. Uses the memory made ahead where it fits, otherwise frees it.
  static Step<std::unique_ptr<SubmissionSide>> open(Device& device, sys::Fd channel, Exits& exits, WaitMode wait_mode,
                                                    const Plan& plan, ReferenceSide& reference,
                                                    std::span<const Layout> layouts,
                                                    std::optional<SubmissionMemory> ahead = {});

  // The overhead that null calls of this child have shown before it ran the submission's code.
  const Overhead& overhead() const { return overhead_; }

  // Forgets what the trials of another workload have shown, and describes the reference's present workload to the
  // child. The overhead stays.
  Step<void> change_workload(const Plan& plan);
  // Copies the reference's state into the window, then constructs the submission under the seed of this attempt.
  Step<void> load(const Plan& plan, std::uint64_t seed, std::uint32_t workload = 0);
  // The same in two halves.
  Step<void> begin_load(const Plan& plan, std::uint64_t seed, std::uint32_t workload = 0);
  bool is_loading() const { return !child_->has_answered(); }
  Step<void> finish_load();

  struct Trial {
    std::uint32_t number = 0;  // for evidence
    std::uint64_t seed = 0;
    std::uint32_t poison = 0;  // the word that fills the outputs before the call
    // Selects the slot of the call, modulo the number of slots, and the piece that the degenerate-tolerance check
    // reads. A random number, except in a warm trial.
    std::uint64_t slot_draw = 0;
    std::int64_t limit_ms = 0;
    std::int64_t launch_limit_ms = 0;  // as in CommandRequest
    bool is_watched = false;           // likewise
  };
  struct CallResult {
    std::int64_t interval_ns = 0;
    std::int64_t event_ns = 0;          // by the child's own clock
    std::int64_t occupancy_gap_ns = 0;  // Device::occupancy_gap_ns
    bool is_early = false;              // as in Answered: reported as done while the judge still had the device
    // The trial must be repeated. The comparison of large outputs in place found a difference, and a copy made later
    // proves nothing if it is right; or comparisons in place take too long on this device.
    bool is_inconclusive = false;
    std::vector<Tensor> outputs;  // the table's rows as the child reports them
    double slowness = 1;          // Device::memory_slowness
  };
  // Stages a call: gives the child all that a call needs before the timed interval. begin_staging() may come before the
  // reference has made the trial, finish_staging() comes after that.
  void begin_staging(const Trial& trial);
  Step<void> finish_staging(const Trial& trial);
  // Makes one staged call on the reference's current trial. Before another process gets the device, compares large
  // outputs where the call has left them, and copies other outputs for check().
  Step<CallResult> call(const Plan& plan, const Trial& trial);
  // Checks every output of the call, and that the inputs and the gaps between tensors are unchanged. The device
  // compares between the two halves. check() stops with a verdict where something is wrong.
  Step<void> begin_check(const Plan& plan, const Trial& trial, const CallResult& called);
  Step<void> check(const Plan& plan, const Trial& trial, const CallResult& called);

  // Has the child find out, by two calls on the inputs of the reference's current trial, whether the submission uses
  // what the problem forbids, and stops with `rejected` where it does. Comes after the last trial and burst, because
  // the calls may change the submission's state. Does nothing for a launcher, which calls the submission's kernels
  // only.
  Step<void> inspect(const Plan& plan, std::uint64_t seed);

  // Stops with `rejected` where something of the submission runs although it has no call. Does nothing where the judge
  // does not know the child's process.
  Step<void> check_runs_nothing();

  // Returns the outputs of the last call as they were copied, laid out like the window's region of outputs. Where the
  // plan says that a constant passes, the outputs of every call are copied.
  const Memory& copied_outputs() const { return *memory_.snapshot; }

  // Replaces the window by one for the calls of bursts. Each of its slots has the layout of the first window. The arena
  // stays.
  Step<void> attach_slots(const Plan& plan, std::unique_ptr<Memory> window, std::uint32_t slots, std::uint32_t calls);
  const Memory& window() const { return slots_ ? *slots_ : *memory_.window.memory; }
  const Arena& arena() const { return memory_.window.arena; }
  // Overwrites the outputs that the last call or burst has left in the arena, so that a call which only patches stale
  // outputs is caught. call() does this itself; before a burst the caller does.
  Expected<void> poison_previous_outputs(std::uint32_t poison);
  // Makes all calls of a burst in one timed interval. The caller copies the outputs, in hooks.take, and checks them.
  Step<Answered> run_burst(std::span<const std::uint16_t> slots, const Trial& trial, const IntervalHooks& hooks);

  // The inputs and expected outputs of a call, and where its outputs are.
  struct Expectation {
    const std::vector<Tensor>& inputs;
    const std::vector<Tensor>& outputs;
    InputCopies input_copies;
    const Memory& expected;
    const Memory& snapshot;    // the outputs, laid out like the window's region of outputs
    std::uint64_t shift = 0;   // the offset of the call's slot in the window
    bool is_in_place = false;  // the snapshot is a view by outputs_in_place(), so gaps are compared in the window
  };
  // Checks one call of a burst. `got` holds the table's rows as the child reports them.
  Step<void> check(const Plan& plan, const Trial& trial, const Expectation& expectation, std::span<const Tensor> got);

  // Returns the evidence of the degenerate-tolerance check: zeros are within the tolerance of an output, and the output
  // was hardly closer to the expected one than a constant is. Returns nothing where the check has found nothing.
  const std::optional<Evidence>& suspicion() const { return suspicion_; }
  // Returns the worst errors among outputs that are within the tolerance.
  const Correctness& correctness() const { return correctness_; }

 private:
  // Which comparisons the device has made and found equal.
  struct DeviceFindings {
    std::vector<std::optional<Agreement>> outputs;
    bool gaps = false;    // every gap between outputs still holds poison
    bool inputs = false;  // no input has changed; false where inputs may change
  };
  SubmissionSide(Device& device, std::unique_ptr<Child> child, ReferenceSide& reference, SubmissionMemory memory)
      : device_(device), child_(std::move(child)), reference_(reference), checks_(device), memory_(std::move(memory)) {}
  ChildActivity doing(Phase phase) const { return {ChildRole::submission, phase}; }
  void describe_workload();
  Step<void> attach(const Plan& plan);
  std::uint64_t shift_of(const Trial& trial) const {
    return trial.slot_draw % memory_.window.slots * reference_.layout().bytes();
  }
  Step<void> record_returned(const std::vector<Tensor>& got);
  Step<void> check_forms(const Trial& trial, const Expectation& expectation, std::span<const Tensor> got) const;
  Step<void> check_gaps(const Trial& trial, const Expectation& expectation);
  Step<void> check_values(const Plan& plan, const Trial& trial, const Expectation& expectation,
                          std::span<const Tensor> got, const DeviceFindings& findings);
  Step<void> check_by_problem(const Plan& plan, const Trial& trial, const Expectation& expectation,
                              std::span<const Tensor> got);
  Step<void> check_degenerate_tolerance(const Trial& trial, const Expectation& expectation, std::size_t output,
                                        Tolerance tolerance);
  Expectation expectation(const Trial& trial) const;
  Region sampled_region(const Trial& trial, const Tensor& output) const;
  bool must_keep_all_inputs() const;  // whether the reference changes none of its inputs
  std::unique_ptr<Memory> outputs_to_compare_in_place(const Trial& trial, const OutputSource& from,
                                                      std::span<const Tensor> got) const;
  Expected<void> compare_in_place(const Plan& plan, const Trial& trial, const Memory& outputs);
  bool is_all_found_equal(const DeviceFindings& findings) const;
  std::vector<DeviceComparison> device_comparisons(const Plan& plan, const Trial& trial,
                                                   const Expectation& expectation) const;
  Step<void> start_device_check(const Plan& plan, const Trial& trial, const Expectation& expectation,
                                std::span<const Tensor> got);
  Step<DeviceFindings> finish_device_check();
  Step<void> finish_check(const Plan& plan, const Trial& trial, const Expectation& expectation,
                          std::span<const Tensor> got);
  Step<void> check_inputs(const Trial& trial, const Expectation& expectation);
  // An output that is not within the tolerance of the reference's, and what the truth says about it.
  struct TruthFinding {
    bool is_right = false;
    std::optional<TruthErrors> errors = {};  // no value where the truth was not asked for
  };
  // The truth of the trial that is checked, once an output has needed it.
  using TrialTruth = std::optional<ReferenceSide::Truth>;
  Step<TruthFinding> measure_by_truth(const Plan& plan, const Trial& trial, const Expectation& expectation,
                                      std::size_t output, const Comparison& comparison, TrialTruth& truth);
  Step<bool> is_known_by_truth(const Trial& trial, const Expectation& expectation, std::size_t output);
  Step<bool> is_within_allowance(const Trial& trial, const Expectation& expectation, std::size_t output);
  Step<TruthComparison> compare_with_truth(const Expectation& expectation, std::size_t output, Tolerance tolerance,
                                           const ReferenceSide::Truth& truth);
  Step<void> add_rounding(const Plan& plan, const ReferenceSide::TruthRequest& request, std::size_t output,
                          const ReferenceSide::Truth& truth, TruthComparison& comparison);
  void note_tolerance(channel::Dtype dtype, Tolerance tolerance);
  void note_truth(const TruthErrors& errors);
  void add_idle_kernels(Evidence& evidence) const;
  Evidence explain(const Trial& trial, const Expectation& expectation, std::size_t output, const Tensor& got,
                   const Comparison& comparison, const TruthFinding& finding);
  Expected<Appearance> look_at(const Trial& trial, const Expectation& expectation, const Tensor& output,
                               const Comparison& comparison);

  Device& device_;
  std::unique_ptr<Child> child_;
  ReferenceSide& reference_;
  MemoryChecks checks_;
  SubmissionMemory memory_;
  std::unique_ptr<Memory> slots_;  // the window for bursts; null before attach_slots()
  std::vector<Tensor> staged_inputs_;
  std::vector<Region> previous_outputs_;           // those of the last call or burst that lie in the arena
  std::optional<PendingComparisons> comparisons_;  // those of the last call that the device makes now
  std::optional<DeviceFindings> device_findings_;  // of the last call, where its outputs in place are all right
  bool may_compare_in_place_ = true;               // false once a comparison in place has failed
  // Consecutive calls whose comparison in place took too long. Calls beside a warm-up are left out.
  int slow_comparisons_ = 0;
  Overhead overhead_;
  Correctness correctness_;
  // For each output, whether zeros are within the tolerance in the pieces that were read in the first trial.
  std::vector<bool> zeros_may_pass_;
  std::optional<Evidence> suspicion_;
  // The pieces of outputs that are measured by the truth, on the host. They are kept from trial to trial, because the
  // first use of fresh memory takes as long as the measuring.
  struct PieceBuffers {
    std::vector<std::byte> exact;
    std::vector<std::byte> expected;
    std::vector<std::byte> got;
  };
  PieceBuffers piece_buffers_;
  std::vector<TruthAllowance> allowances_;  // by output; shorter where later outputs needed no truth
  bool is_tolerance_of_floats_ = false;     // whether the tolerance in correctness_ is that of a floating-point output
  std::string idle_kernels_;                // that the first calls ran no kernel of its own, in the child's words
  std::string unmatched_;                   // parameters and buffers without a partner, in the child's words
};

// The first calls of a submission, whose answers say whether they ran a kernel of the submission's own.
inline constexpr std::uint32_t kWatchedCalls = 2;

// Returns a word that is NaN in every floating-point format of at least 16 bits and random otherwise.
std::uint32_t poison_word(std::uint64_t random);

}  // namespace kq::judge
