// Whether a problem draws other inputs for other seeds. Where it does not, who has computed its outputs once need not
// compute: a time tells nothing then.
#pragma once

#include <cstddef>
#include <vector>

#include "gpu_worker/judge/check/input_copies.h"
#include "gpu_worker/judge/device/device.h"
#include "gpu_worker/judge/tensor/table.h"

namespace kq::judge {

class InputChange {
 public:
  // Of a trial whose inputs are there. Pieces of each tensor are compared with those of the trial before, until one is
  // another: then no more is looked at.
  Expected<void> observe(Device& device, const InputCopies& input_copies, const std::vector<Tensor>& inputs);
  // In no trial was anything else than in the one before, and there were some.
  bool never_changed() const { return trial_count_ > 1 && !has_changed_; }

 private:
  std::vector<std::byte> last_;
  std::size_t trial_count_ = 0;
  bool has_changed_ = false;
};

}  // namespace kq::judge
