// Finds submissions that return one constant, for problems whose tolerance cannot tell that from a right kernel.
#pragma once

#include <cstdint>
#include <span>

#include "gpu_worker/judge/check/value_change.h"
#include "gpu_worker/judge/trial/reference_side.h"

namespace kq::judge {

// Compares each trial's outputs of the submission, and the expected ones, with those of the trial before.
class ConstantOutputs {
 public:
  // Reads pieces of the expected outputs of the reference's current trial, and of the submission's. `got` is laid out
  // like the window's region of outputs, and `rows` has the submission's plain values.
  Expected<void> observe(Device& device, const ReferenceSide& reference, const Memory& got,
                         std::span<const Tensor> rows);
  // Returns whether the submission's outputs never changed in kConstantTrialsMin trials or more, while those of the
  // reference changed from most trials to the next.
  bool is_constant() const {
    return trial_count_ >= kConstantTrialsMin && submission_.never_changed() && 2 * changes_ > trial_count_;
  }

 private:
  ValueChange submission_;
  ValueChange reference_;  // since its last change
  std::size_t trial_count_ = 0;
  std::size_t changes_ = 0;
};

}  // namespace kq::judge
