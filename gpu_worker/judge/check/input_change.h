// The input-change check: whether a problem draws different inputs for different seeds. Where it does not, a submission
// can keep the outputs of one call and return them again, and the measured time means nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu_worker/judge/check/input_copies.h"
#include "gpu_worker/judge/device/device.h"
#include "gpu_worker/judge/tensor/table.h"

namespace kq::judge {

// Compares the inputs of each trial with those of the trial before.
class InputChange {
 public:
  // Reads pieces of each input tensor of a trial and compares them with the same pieces of the trial before. After the
  // first difference it reads nothing any more.
  Expected<void> observe(Device& device, const InputCopies& input_copies, const std::vector<Tensor>& inputs);
  // Returns whether at least two trials were observed and all had the same inputs.
  bool never_changed() const { return trial_count_ > 1 && !has_changed_; }

 private:
  std::vector<std::byte> last_;
  std::size_t trial_count_ = 0;
  bool has_changed_ = false;
};

}  // namespace kq::judge
