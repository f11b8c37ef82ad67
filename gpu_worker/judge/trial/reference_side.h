// The reference child, and the results that the judge keeps of it: the problem's layout, and the inputs and expected
// outputs of the current trial and of trials ahead (expected_outputs.h).
//
// The reference's outputs are right by definition. Otherwise the judge trusts the reference as little as a submission.
// The child outlives an attempt: the next attempt on the same problem loads the model again under another seed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu_worker/judge/check/expected_outputs.h"
#include "gpu_worker/judge/check/input_copies.h"
#include "gpu_worker/judge/check/memory_checks.h"
#include "gpu_worker/judge/child/failure.h"
#include "gpu_worker/judge/child/window.h"
#include "gpu_worker/judge/tensor/layout.h"

namespace kq::judge {

// Gives commands to the reference child and keeps its results. Commands that come in two halves, begin_* and finish_*,
// let the judge and other children work meanwhile; until the second half the current trial stays valid.
class ReferenceSide {
 public:
  // Starts the child and makes one null call. The child runs only kq's own code until load().
  static Step<std::unique_ptr<ReferenceSide>> open(Device& device, sys::Fd channel, Exits& exits, WaitMode wait_mode,
                                                   const Plan& plan);

  // Constructs a workload's model under the seed of this attempt, makes a new window if the layout does not fit into
  // the old one, copies the model's state into the window, and compiles the model where the plan's baseline is a
  // compiled one.
  Step<void> load(const Plan& plan, std::uint64_t seed, std::uint32_t workload = 0);
  // The two steps of load(). describe() constructs the model and returns the layout of its tensors. Stops with
  // too_large where the layout exceeds the plan's limit.
  Step<Layout> describe(const Plan& plan, std::uint64_t seed, std::uint32_t workload = 0);
  Step<void> use(const Plan& plan, Layout layout);
  // As describe(), but only where this child has not been asked for the workload's layout before. Constructs no model
  // otherwise.
  Step<Layout> describe_once(const Plan& plan, std::uint64_t seed, std::uint32_t workload);
  // Returns the problem's workloads, as the last describe() has found them, also where it stopped.
  const std::vector<WorkloadRow>& workloads() const { return workloads_; }
  // Makes later windows large enough for each of these layouts, so that another workload needs no new window.
  void reserve(std::span<const Layout> layouts);
  struct CallResult {
    std::int64_t interval_ns = 0;
    std::int64_t event_ns = 0;          // by the child's own clock
    std::int64_t occupancy_gap_ns = 0;  // Device::occupancy_gap_ns
    double slowness = 1;                // Device::memory_slowness
  };
  // Draws the inputs of one trial, computes its expected outputs, and returns the time of that call. Where the plan's
  // baseline is compiled, the time is that of the compiled model, but the outputs are those of the eager model.
  Step<CallResult> make_timed_trial(const Plan& plan, const Seeds& seeds);
  // The three steps of make_timed_trial().
  void begin_inputs(const Plan& plan, const Seeds& seeds);
  Step<void> finish_inputs();
  Step<CallResult> time_trial(const Plan& plan, const Seeds& seeds);
  // Draws the inputs of one trial and computes its expected outputs in one command that is not timed. Does not find out
  // which inputs the reference changes.
  Step<void> make_trial(const Plan& plan, const Seeds& seeds);
  void begin_trial(const Plan& plan, const Seeds& seeds);
  Step<void> finish_trial();
  // The same for several trials, which are kept behind the other trials ahead. Makes the first trials of `seeds`, as
  // many as one command can make and there is room for, and returns their number, which may be 0. finish_ahead() does
  // nothing where nothing was begun.
  Step<std::size_t> make_ahead(const Plan& plan, std::span<const Seeds> seeds);
  Step<std::size_t> begin_ahead(const Plan& plan, std::span<const Seeds> seeds);
  Step<void> finish_ahead();
  // Returns the time of the last command that computed trials, divided by their number. It includes the time until the
  // judge read the answer. Returns 0 where there was no such command.
  std::int64_t trial_ns() const { return trial_ns_; }
  std::size_t ahead() const { return trials_.ahead_count(); }
  // Returns the seeds of the oldest trial ahead, or null where there is none.
  const Seeds* next_ahead_seeds() const { return trials_.next_seeds(); }
  // Makes the oldest trial ahead the current one.
  void use_next_ahead() {
    drop_outputs_in_place();
    trials_.advance();
  }
  // Returns whether the current trial's inputs and expected outputs lie in the reference's own memory, as those of
  // large trials do, because copying them would take too long. Then the reference must get no further command until the
  // submission's call is checked.
  bool is_kept_in_place() const { return in_place_inputs_ != nullptr; }
  // Waits for the command that was begun, if any, and drops all trials ahead.
  void settle();
  // Calls the reference once more on the inputs of the current trial. Stops with problem_invalid where the outputs
  // differ.
  Step<void> check_determinism(const Plan& plan, std::uint64_t seed);
  // Returns whether the reference computes different outputs from the current inputs under this seed. Returns true
  // without a call where the trial is kept in place.
  Step<bool> depends_on_seed(const Plan& plan, std::uint64_t seed);

  // Returns whether another trial has, byte for byte, the expected outputs of the current one. Replaces the current
  // trial. Returns false where there is no memory to keep the outputs in.
  Step<bool> repeats_outputs(const Plan& plan, const Seeds& seeds);

  // The truth of a trial (core/problem.h) in memory that no submission maps.
  struct Truth {
    std::unique_ptr<Memory> memory = {};  // null where the truth could not be computed
    bool is_in_device_memory = false;     // false: in host memory
    std::vector<Tensor> outputs = {};     // the rows, with their offsets in the memory
    std::size_t kind = 0;                 // the number among the kinds that this device has
    std::string words = {};               // "float64 on the device", or why there is no truth
  };
  struct TruthRequest {
    const std::vector<Tensor>& inputs;  // the rows, with the trial's plain values
    InputCopies input_copies;
    std::uint64_t seed = 0;  // of the trial's calls
    channel::Rounding rounding = channel::Rounding::none;
    std::size_t first_kind = 0;
  };
  // Has the child compute the outputs of a trial as exactly as can be had: in the first kind, from `first_kind` on,
  // that it can compute. A kind that works is the first one of later requests as well. Between the two halves of
  // another command the outcome of that command is kept for its second half.
  Step<Truth> compute_truth(const Plan& plan, const TruthRequest& request);
  // Returns bytes of a truth. They are valid as long as the truth, and until `buffer` changes.
  Expected<std::span<const std::byte>> truth_bytes(const Truth& truth, std::uint64_t offset, std::uint64_t bytes,
                                                   std::vector<std::byte>& buffer) const;
  // Makes this kind the first one of later requests, because those before it say nothing about this model: random
  // numbers drawn in float64 differ from those drawn in float32.
  void prefer_truth(std::size_t kind) { truth_kind_ = kind; }
  // Returns whether a kind of truth follows this one.
  bool has_truth_after(std::size_t kind) const { return kind + 1 < truth_kinds().size(); }
  // Calls `visit` with the expected outputs of earlier trials that are still in memory, laid out like
  // expected_outputs(), until it returns true. Returns whether it has.
  bool any_earlier_trial(const std::function<bool(const Memory& expected)>& visit) const {
    return trials_.any_earlier(visit);
  }

  // Returns whether the problem forbids a submission to use something.
  bool has_forbidden() const { return has_forbidden_; }
  // Returns whether the problem asks for kernels of the submission's own.
  bool wants_own_kernels() const { return wants_own_kernels_; }
  // Returns whether the problem itself decides which outputs are right.
  bool has_check() const { return has_check_; }
  // The outputs of one call of a submission, and what they depend on.
  struct CheckRequest {
    const std::vector<Tensor>& inputs;  // the rows, with the trial's plain values
    InputCopies input_copies;
    const Memory& expected;              // laid out like the outputs' region, as is `got`
    const std::vector<Tensor>& outputs;  // the expected rows, with the trial's plain values
    const Memory& got;
    std::span<const Tensor> got_outputs;  // the rows as the submission reports them
  };
  // Has check() of the problem look at outputs. Returns its sentence about what is wrong; empty: they are right.
  Step<std::string> run_check(const Plan& plan, const CheckRequest& request);

  const Layout& layout() const { return layout_; }
  const Trees& trees() const { return trees_; }  // of the last load
  const Memory& window() const { return *window_.memory; }
  // The next three return memory that no submission maps. Inputs and expected outputs are laid out like the window's
  // regions: a tensor lies at its offset less the region's begin.
  const Memory& input_memory() const { return in_place_inputs_ ? *in_place_inputs_ : *trials_.current().input_copies; }
  InputCopies input_copies() const;  // input_memory(), with the tensor that lies elsewhere, if any
  const Memory& expected_outputs() const {
    return in_place_outputs_ ? *in_place_outputs_ : *trials_.current().expected;
  }
  // The tables' rows, with the plain values of the current trial.
  const std::vector<Tensor>& inputs() const { return trials_.current().inputs; }
  const std::vector<Tensor>& outputs() const { return trials_.current().outputs; }
  // For each input, whether the reference itself has changed it during a call.
  const std::vector<bool>& mutable_inputs() const { return mutable_; }
  // Returns whether the child has answered every command so far.
  bool usable() const { return child_->usable(); }

 private:
  ReferenceSide(Device& device, std::unique_ptr<Child> child)
      : device_(device), child_(std::move(child)), checks_(device), trials_(device) {}
  ChildActivity doing(Phase phase) const { return {ChildRole::reference, phase}; }
  Step<void> compile(const Plan& plan);
  bool has_room_for(const Layout& layout) const;
  Step<void> make_window_for(const Layout& layout);
  Expected<Outcome> finish_command();
  Expected<void> read_inputs(const InputCopies& copies, std::byte* to) const;
  std::span<const channel::TruthKind> truth_kinds() const;
  Expected<Truth> make_truth(const TruthRequest& request, bool is_in_device_memory) const;
  Expected<Outcome> compute_into(const Truth& truth, channel::TruthKind kind, const Plan& plan,
                                 const TruthRequest& request);
  Step<Answered> call(const Plan& plan, std::uint64_t seed, const Memory& to,
                      channel::Command command = channel::Command::call);
  bool is_large() const;
  std::vector<Tensor> input_rows_to_request() const;
  void begin_answers(const Plan& plan, const std::vector<Tensor>& inputs, std::span<const Seeds> seeds);
  Step<Answered> finish_answers();
  Step<void> keep(const Answered& answered, std::size_t slot, std::size_t slots, ReferenceTrial& answer);
  Step<void> keep_all(const Answered& answered);
  Step<void> keep_in_place(const Answered& answered);
  void drop_outputs_in_place();
  Step<void> keep_inputs(const std::vector<Tensor>& drawn, std::uint64_t shift, ReferenceTrial& answer);
  Step<void> check_inputs(const std::vector<Tensor>& drawn, int in_arena_max) const;
  void keep_plain_values(const std::vector<Tensor>& drawn, ReferenceTrial& answer) const;
  void keep_outputs(std::span<const Tensor> computed, ReferenceTrial& answer);
  Step<void> check_outputs(std::span<const Tensor> computed) const;
  Step<void> note_mutated_inputs();
  Step<std::optional<Mismatch>> compare_repeated_call(const Plan& plan, std::uint64_t seed);
  Step<std::optional<Mismatch>> compare_repeated_call_into(const Memory& again, const Plan& plan, std::uint64_t seed);

  Device& device_;
  std::unique_ptr<Child> child_;
  MemoryChecks checks_;
  Layout layout_;
  std::map<std::uint32_t, Layout> known_layouts_;  // by workload, of describe_once()
  std::vector<WorkloadRow> workloads_;
  Window window_;                 // has a slot for each trial of one command; the first slot also has the states
  std::uint64_t slot_bytes_ = 0;  // the size of each of the window's slots
  std::uint64_t slots_ = 1;       // those of the window's slots that the layout uses
  std::uint64_t reserved_slot_bytes_ = 0;
  std::uint64_t reserved_arena_bytes_ = 0;
  Arena arena_;                   // in the first window that had room for one
  std::unique_ptr<Memory> kept_;  // the window that holds the arena, once window_ is another one
  // Holds the outputs of a repeated call. Null before the first one, and where the outputs are large.
  std::unique_ptr<Memory> repeated_outputs_;
  ExpectedOutputs trials_;
  std::unique_ptr<Memory> in_place_inputs_;     // the current trial's in the window; null where they were copied
  std::optional<InputCopies> in_place_copies_;  // empty where no input lies in the arena
  std::unique_ptr<Memory> in_place_outputs_;
  std::vector<Seeds> requested_seeds_;  // of the trials that the child computes now
  bool is_ahead_requested_ = false;
  std::int64_t requested_at_ns_ = 0;
  std::int64_t trial_ns_ = 0;
  // The outcome of the command that was begun, where the truth had to be computed before its second half.
  std::optional<Expected<Outcome>> held_outcome_;
  std::size_t truth_kind_ = 0;  // the first kind of truth that the loaded model was not found unable to compute
  std::vector<bool> mutable_;
  Trees trees_;
  bool has_check_ = false;
  bool has_forbidden_ = false;
  bool wants_own_kernels_ = false;
};

// A plain output as bytes for Comparison. Python's None has no bytes.
struct PlainValue {
  channel::Dtype dtype = channel::Dtype::none;
  std::vector<std::byte> bytes;
};
PlainValue plain_value(const Tensor& output);

}  // namespace kq::judge
