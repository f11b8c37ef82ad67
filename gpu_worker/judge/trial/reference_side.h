// The reference child and what the judge keeps of it: the problem's layout, and pristine inputs and expected outputs of
// the trial at hand and of some to come (answers.h).
//
// It is as untrusted as a submission where the machine is concerned, and right by definition. It outlives an attempt:
// the next one on the same problem loads the model anew under another seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu_worker/judge/check/expected_outputs.h"
#include "gpu_worker/judge/check/input_copies.h"
#include "gpu_worker/judge/check/memory_checks.h"
#include "gpu_worker/judge/child/failure.h"
#include "gpu_worker/judge/child/window.h"
#include "gpu_worker/judge/tensor/layout.h"

namespace kq::judge {

class ReferenceSide {
 public:
  static Step<std::unique_ptr<ReferenceSide>> open(Device& device, sys::Fd channel, Exits& exits, WaitMode wait_mode,
                                                   const Plan& plan);

  // Constructs the model under the seed of this attempt; lays out the window, where it is another one than before; puts
  // the state there; compiles what the plan wants compiled.
  Step<void> load(const Plan& plan, std::uint64_t seed);
  struct CallResult {
    std::int64_t interval_ns = 0;
    std::int64_t event_ns = 0;          // what the child says
    std::int64_t occupancy_gap_ns = 0;  // Device::occupancy_gap_ns
    double slowness = 1;                // Device::memory_slowness
  };
  // Draws the inputs of one trial and computes its expected outputs, under the clock. The times are of the plan's
  // baseline, the outputs of the model as it is.
  Step<CallResult> make_timed_trial(const Plan& plan, const Seeds& seeds);
  // In three steps, for what others do while the inputs are drawn: until the second all that is kept is of the last
  // trial.
  void begin_inputs(const Plan& plan, const Seeds& seeds);
  Step<void> finish_inputs();
  Step<CallResult> time_trial(const Plan& plan, const Seeds& seeds);
  // In one command that nobody times. Which inputs the reference changes is not seen here. In two halves, for what
  // others do meanwhile: until the second all that is kept is of the last trial.
  Step<void> make_trial(const Plan& plan, const Seeds& seeds);
  void begin_trial(const Plan& plan, const Seeds& seeds);
  Step<void> finish_trial();
  // The same for trials to come, which are kept behind those made ahead before: for as many of `seeds`, in their order,
  // as one command makes and there is room for, which may be none. In two halves too, of which the second does nothing
  // where nothing was begun.
  Step<std::size_t> make_ahead(const Plan& plan, std::span<const Seeds> seeds);
  Step<std::size_t> begin_ahead(const Plan& plan, std::span<const Seeds> seeds);
  Step<void> finish_ahead();
  // At most so long the last ones took, each; 0: none was made.
  std::int64_t trial_ns() const { return trial_ns_; }
  std::size_t ahead() const { return trials_.ahead_count(); }
  // The seeds of the trial made ahead whose turn it is; null: there is none.
  const Seeds* next_ahead_seeds() const { return trials_.next_seeds(); }
  // It is the trial at hand from here on.
  void use_next_ahead() {
    drop_outputs_in_place();
    trials_.advance();
  }
  // Of large trials what a call is held to is not copied: it lies where the reference has left it, who must be asked
  // nothing more until that was looked at.
  bool is_kept_in_place() const { return in_place_inputs_ != nullptr; }
  // Whatever was begun is over, and what was made ahead is for nothing.
  void settle();
  // Calls once more on the inputs of the last trial: the reference must agree with itself.
  Step<void> check_determinism(const Plan& plan, std::uint64_t seed);
  // Whether it computes something else of the last inputs under this seed; of large ones nobody knows, and it may.
  Step<bool> depends_on_seed(const Plan& plan, std::uint64_t seed);

  const Layout& layout() const { return layout_; }
  const Memory& window() const { return *window_.memory; }
  // As the window's regions are; a tensor lies at its offset less the region's begin. No submission maps them.
  const Memory& input_memory() const { return in_place_inputs_ ? *in_place_inputs_ : *trials_.current().input_copies; }
  InputCopies input_copies() const;  // the same, and what of them the reference has left elsewhere
  const Memory& expected_outputs() const {
    return in_place_outputs_ ? *in_place_outputs_ : *trials_.current().expected;
  }
  // Rows with the plain values of this trial.
  const std::vector<Tensor>& inputs() const { return trials_.current().inputs; }
  const std::vector<Tensor>& outputs() const { return trials_.current().outputs; }
  // Inputs that the reference itself has changed during a call, by index.
  const std::vector<bool>& mutable_inputs() const { return mutable_; }
  // It answered everything so far.
  bool usable() const { return child_->usable(); }

 private:
  ReferenceSide(Device& device, std::unique_ptr<Child> child)
      : device_(device), child_(std::move(child)), checks_(device), trials_(device) {}
  ChildActivity doing(Phase phase) const { return {ChildRole::reference, phase, device_.info().kind}; }
  Step<void> compile(const Plan& plan);
  Step<void> make_windows(const Plan& plan, Tables tables);
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
  Window window_;                             // with slots for the answers of one command; the first has the states too
  Arena arena_;                               // of the first window that had room for one
  std::unique_ptr<Memory> kept_;              // that window, once there is another
  std::unique_ptr<Memory> repeated_outputs_;  // for the outputs of a call that comes again; null before the first one,
                                              // and where they are large
  ExpectedOutputs trials_;
  std::unique_ptr<Memory> in_place_inputs_;     // of the trial at hand, in its own memory; null: they were copied
  std::optional<InputCopies> in_place_copies_;  // with an input in the arena; nothing: there is none
  std::unique_ptr<Memory> in_place_outputs_;
  std::vector<Seeds> requested_seeds_;  // of the answers that are being made
  bool is_ahead_requested_ = false;
  std::int64_t requested_at_ns_ = 0;  // when
  std::int64_t trial_ns_ = 0;
  std::vector<bool> mutable_;
};

// A plain output as bytes that Comparison knows; None has none.
struct PlainValue {
  channel::Dtype dtype = channel::Dtype::none;
  std::vector<std::byte> bytes;
};
PlainValue plain_value(const Tensor& output);

}  // namespace kq::judge
