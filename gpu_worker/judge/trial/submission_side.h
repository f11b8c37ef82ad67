// The submission child: a window of its own, calls under the clock, and what is looked at after each of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "gpu_worker/judge/check/input_copies.h"
#include "gpu_worker/judge/check/memory_checks.h"
#include "gpu_worker/judge/child/failure.h"
#include "gpu_worker/judge/child/window.h"
#include "gpu_worker/judge/timing/calibration.h"
#include "gpu_worker/judge/timing/timed_interval.h"
#include "gpu_worker/judge/trial/outputs.h"
#include "gpu_worker/judge/trial/reference_side.h"

namespace kq::judge {

// What a submission child is given of the device. None of it was ever another child's.
class SubmissionMemory {
 public:
  static Step<SubmissionMemory> make(Device& device, const Layout& layout, const Plan& plan);
  // The same for a child to come, where it is no large part of the device's memory; nothing elsewhere.
  static std::optional<SubmissionMemory> make_ahead(Device& device, const Layout& layout, const Plan& plan);
  bool fits(Device& device, const Layout& layout, const Plan& plan) const;

  Window window;                     // its slots are the places where calls are made; the first has the states
  std::unique_ptr<Memory> snapshot;  // of the outputs, taken right after a bracket

 private:
  struct Sizes {
    std::uint64_t window = 0;
    std::uint64_t places = 1;
    std::uint64_t snapshot = 0;
    std::uint64_t arena = 0;
    friend bool operator==(const Sizes&, const Sizes&) = default;
  };
  static Sizes sizes(const Device& device, const Layout& layout, const Plan& plan);
  Sizes sizes_;
};

// What more than the absence of any null call is somebody else's doing: the switch to another context and back takes
// 140 us and more, the longest gap of an undisturbed hold 12 us (measured on an H200).
inline constexpr std::int64_t kForeignGapNs = 60'000;

class SubmissionSide {
 public:
  // Attaches the window and calibrates: until then the child runs our code only. What was made ahead goes where it does
  // not fit.
  static Step<std::unique_ptr<SubmissionSide>> open(Device& device, sys::Fd channel, Exits& exits, WaitMode wait_mode,
                                                    const Plan& plan, const ReferenceSide& reference,
                                                    std::optional<SubmissionMemory> ahead = {});

  // The interval of a null call, in every bracket and no part of a sample.
  const Overhead& overhead() const { return overhead_; }

  // Copies the reference's state in, then constructs the submission under the seed of this attempt.
  Step<void> load(const Plan& plan, std::uint64_t seed);
  // The same in two halves, for what others do meanwhile.
  Step<void> begin_load(const Plan& plan, std::uint64_t seed);
  bool is_loading() const { return !child_->has_answered(); }
  Step<void> finish_load();

  struct Trial {
    std::uint32_t number = 0;  // for evidence
    std::uint64_t seed = 0;
    std::uint32_t poison = 0;  // what the outputs hold before the call
    std::uint64_t place = 0;   // any number: where in the window it is made, of as many places as there are
    std::int64_t limit_ms = 0;
    std::int64_t launch_limit_ms = 0;  // as in Order
  };
  struct CallResult {
    std::int64_t interval_ns = 0;
    std::int64_t event_ns = 0;          // what the child says
    std::int64_t occupancy_gap_ns = 0;  // Device::occupancy_gap_ns
    bool is_early = false;  // as in Answered: it said that what it launched was done while the judge had the device
    bool is_inconclusive = false;  // large outputs were no right ones where they lay, and were taken only then: that
                                   // they are right by now says nothing. Or to look at them there takes too long
    std::vector<Tensor> outputs;  // what the child says of them
    double slowness = 1;          // Device::memory_slowness
  };
  // What a call needs, before its clock starts. It may begin before the reference has made the trial, and ends after
  // that.
  void begin_staging(const Trial& trial);
  Step<void> finish_staging(const Trial& trial);
  // One call on the trial that the reference has made, once it is staged. Large outputs are looked at before anyone
  // else gets the device, where the call has left them; others are taken, for check().
  Step<CallResult> call(const Plan& plan, const Trial& trial);
  // Every output of it, and that inputs and gaps are what they were. In two halves, for what others do while the device
  // looks.
  Step<void> begin_check(const Plan& plan, const Trial& trial, const CallResult& called);
  Step<void> check(const Plan& plan, const Trial& trial, const CallResult& called);

  // A window in place of the first one, whose slots are laid out as it is; calls of a burst are made there. What they
  // allocate stays in the arena.
  Step<void> attach_slots(const Plan& plan, std::unique_ptr<Memory> window, std::uint32_t slots, std::uint32_t calls);
  const Memory& window() const { return slots_ ? *slots_ : *memory_.window.memory; }
  const Arena& arena() const { return memory_.window.arena; }
  // Of what the last call or burst has left in the arena nothing is there for the next one, who would write only what
  // is another. Comes before it, with what else is laid down then; call() does it.
  Expected<void> poison_previous_outputs(std::uint32_t poison);
  // All calls of a burst under one clock; its outputs are the caller's to take and to check.
  Step<Answered> run_burst(std::span<const std::uint16_t> slots, const Trial& trial, const IntervalHooks& hooks);

  // What a call was given, what is expected of it, and where its outputs came.
  struct Expectation {
    const std::vector<Tensor>& inputs;
    const std::vector<Tensor>& outputs;
    InputCopies input_copies;
    const Memory& expected;
    const Memory& snapshot;    // as the window's region of outputs is
    std::uint64_t shift = 0;   // of its slot in the window
    bool is_in_place = false;  // the snapshot is none: of what lies between outputs the window tells
  };
  // `got` is what the child says of its outputs.
  Step<void> check(const Plan& plan, const Trial& trial, const Expectation& expectation, std::span<const Tensor> got);

  // Why its right answers may be none: the tolerance takes zeros for right ones too, and some were no more like the
  // expected ones than these. Nothing: they were.
  const std::optional<Evidence>& suspicion() const { return suspicion_; }
  // Worst errors seen in right answers.
  const Correctness& correctness() const { return correctness_; }

 private:
  // What the device has found right already.
  struct DeviceFindings {
    std::vector<std::optional<Agreement>> outputs;
    bool guards = false;
    bool inputs = false;
  };
  SubmissionSide(Device& device, std::unique_ptr<Child> child, const ReferenceSide& reference, SubmissionMemory memory)
      : device_(device), child_(std::move(child)), reference_(reference), checks_(device), memory_(std::move(memory)) {}
  ChildActivity doing(Phase phase) const { return {ChildRole::submission, phase, device_.info().kind}; }
  Step<void> attach(const Plan& plan);
  std::uint64_t shift_of(const Trial& trial) const {
    return trial.place % memory_.window.slots * reference_.layout().bytes();
  }
  Step<void> record_returned(const std::vector<Tensor>& got);
  Step<void> check_forms(const Trial& trial, const Expectation& expectation, std::span<const Tensor> got) const;
  Step<void> check_guards(const Trial& trial, const Expectation& expectation);
  Step<void> check_values(const Plan& plan, const Trial& trial, const Expectation& expectation,
                          std::span<const Tensor> got, const DeviceFindings& seen);
  Step<void> check_degenerate_tolerance(const Trial& trial, const Expectation& expectation, std::size_t output,
                                        Tolerance tolerance);
  Expectation expectation(const Trial& trial) const;
  Region sampled_region(const Trial& trial, const Tensor& output) const;
  bool keeps_inputs() const;
  std::unique_ptr<Memory> outputs_to_compare_in_place(const Trial& trial, const OutputSource& from,
                                                      std::span<const Tensor> got) const;
  Expected<void> compare_in_place(const Plan& plan, const Trial& trial, const Memory& outputs);
  bool is_all_found_equal(const DeviceFindings& seen) const;
  std::vector<DeviceComparison> device_comparisons(const Plan& plan, const Trial& trial,
                                                   const Expectation& expectation) const;
  Step<void> start_device_check(const Plan& plan, const Trial& trial, const Expectation& expectation,
                                std::span<const Tensor> got);
  Step<DeviceFindings> finish_device_check();
  Step<void> finish_check(const Plan& plan, const Trial& trial, const Expectation& expectation,
                          std::span<const Tensor> got);
  Step<void> check_inputs(const Trial& trial, const Expectation& expectation);
  bool is_unwritten(const Tensor& output, const Expectation& expectation, const Comparison& comparison,
                    std::uint32_t poison);

  Device& device_;
  std::unique_ptr<Child> child_;
  const ReferenceSide& reference_;
  MemoryChecks checks_;
  SubmissionMemory memory_;
  std::unique_ptr<Memory> slots_;  // for bursts; null: there were none
  std::vector<Tensor> staged_inputs_;
  std::vector<Region> previous_outputs_;           // in the arena: outputs of the last call or burst
  std::optional<PendingComparisons> comparisons_;  // that the device makes of the last call
  std::optional<DeviceFindings> device_findings_;  // of the last call's outputs in their place: all is right
  bool may_compare_in_place_ = true;               // until something there was not right
  int slow_comparisons_ =
      0;  // so many of the last calls whose outputs were looked at where they were took too long for that
  Overhead overhead_;
  Correctness correctness_;
  std::vector<bool>
      zeros_may_pass_;  // by output: zeros are right by the tolerance, as far as was looked in the first trial
  std::optional<Evidence> suspicion_;
};

// A word that is NaN in every floating-point format, made of random bits.
std::uint32_t poison_word(std::uint64_t random);

}  // namespace kq::judge
