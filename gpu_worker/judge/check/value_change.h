// The value-change check: whether a problem has other inputs, and other expected outputs, in each trial. Where its
// inputs are always the same, a submission can keep the outputs of one call and return them again, and the measured
// time means nothing. Where its outputs are always the same, a submission that computes nothing is right.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu_worker/judge/check/input_copies.h"
#include "gpu_worker/judge/device/device.h"
#include "gpu_worker/judge/tensor/table.h"

namespace kq::judge {

// Outputs of few values, such as one truth value, may be equal in some trials by chance.
inline constexpr std::size_t kConstantTrialsMin = 5;

// Compares the inputs, or the expected outputs, of each trial with those of the trial before.
class ValueChange {
 public:
  // Reads pieces of each tensor of a trial, and the numbers, and compares them with those of the trial before. After
  // the first difference it reads nothing any more.
  Expected<void> observe(Device& device, const InputCopies& copies, const std::vector<Tensor>& values);
  // Returns whether at least two trials were observed and all had the same values.
  bool never_changed() const { return trial_count_ > 1 && !has_changed_; }
  // Returns whether at least kConstantTrialsMin trials were observed and all had the same values, and some values at
  // all.
  bool are_constant() const { return trial_count_ >= kConstantTrialsMin && !has_changed_ && !last_.empty(); }

 private:
  std::vector<std::byte> last_;
  std::size_t trial_count_ = 0;
  bool has_changed_ = false;
};

}  // namespace kq::judge
