// The submission child: a window of its own, calls under the clock, and what is looked at after each of them.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_worker/judge/calibration.h"
#include "gpu_worker/judge/checks.h"
#include "gpu_worker/judge/ending.h"
#include "gpu_worker/judge/reference_side.h"

namespace kq::judge {

class SubmissionSide {
 public:
  // Attaches the window and calibrates: until then the child runs our code only.
  static Step<std::unique_ptr<SubmissionSide>> open(Device& device, Fd channel, Exits& exits, Waiting waiting, const Plan& plan,
                                                    const ReferenceSide& reference);

  // The interval of a null call, in every bracket and no part of a sample.
  const Overhead& overhead() const { return overhead_; }

  // Copies the reference's state in, then constructs the submission under the seed of this attempt.
  Step<void> load(const Plan& plan, std::uint64_t seed);

  struct Trial {
    std::uint32_t number = 0;       // for evidence
    std::uint64_t seed = 0;
    std::uint32_t poison = 0;       // what the outputs hold before the call
    std::int64_t limit_ms = 0;
  };
  struct Called {
    std::int64_t bracket_ns = 0;
    std::int64_t event_ns = 0;    // what the child says
    std::int64_t absence_ns = 0;  // Device::absence_ns
  };
  // One call on the trial that the reference has just made; every output checked.
  Step<Called> run(const Plan& plan, const Trial& trial);

  // Worst errors seen in right answers.
  const Correctness& correctness() const { return correctness_; }

 private:
  SubmissionSide(Device& device, std::unique_ptr<Child> child, const ReferenceSide& reference)
      : device_(device), child_(std::move(child)), reference_(reference), checks_(device) {}
  Doing doing(Phase phase) const { return {ChildRole::submission, phase, device_.info().kind}; }
  Step<void> attach(const Plan& plan);
  Step<void> check_forms(const Trial& trial, const std::vector<Tensor>& got) const;
  Step<void> check_guards(const Trial& trial);
  Step<void> check_values(const Plan& plan, const Trial& trial, const std::vector<Tensor>& got);
  Step<void> check_inputs(const Trial& trial);
  bool is_unwritten(const Tensor& output, const Comparison& comparison, std::uint32_t poison);

  Device& device_;
  std::unique_ptr<Child> child_;
  const ReferenceSide& reference_;
  Checks checks_;
  std::unique_ptr<Memory> window_;
  std::unique_ptr<Memory> arena_;     // null: there is none
  std::unique_ptr<Memory> snapshot_;  // of the outputs, taken right after the bracket
  Overhead overhead_;
  Correctness correctness_;
};

// A word that is NaN in every floating-point format, made of random bits.
std::uint32_t poison_word(std::uint64_t random);

}  // namespace kq::judge
