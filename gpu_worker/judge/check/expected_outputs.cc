#include "gpu_worker/judge/check/expected_outputs.h"

#include <algorithm>
#include <utility>

#include "gpu_worker/judge/child/window.h"

namespace kq::judge {

void Answers::clear() {
  at_hand_ = {};
  ahead_.clear();
  spare_.clear();
  block_.reset();
  has_block_ = false;
}

Step<void> Answers::lay_out(const Layout& layout) {
  clear();
  input_bytes_ = layout.inputs.bytes();
  output_bytes_ = layout.outputs.bytes();
  KQ_TRY_VALUE(auto pristine, make_memory(device_, &Device::make_private, input_bytes_));
  KQ_TRY_VALUE(auto expected, make_memory(device_, &Device::make_private, output_bytes_));
  at_hand_.pristine = std::move(pristine);
  at_hand_.expected = std::move(expected);
  return {};
}

Expected<std::size_t> Answers::room() {
  if (!has_block_) {
    KQ_TRY(make_block());
  }
  return spare_.size();
}

void Answers::keep_next() {
  ahead_.push_back(std::move(spare_.back()));
  spare_.pop_back();
}

void Answers::take_next() {
  spare_.push_back(std::exchange(at_hand_, std::move(ahead_.front())));
  ahead_.pop_front();
}

void Answers::forget_ahead() {
  std::ranges::move(ahead_, std::back_inserter(spare_));
  ahead_.clear();
}

Expected<void> Answers::make_block() {
  has_block_ = true;
  const std::uint64_t each = input_bytes_ + output_bytes_;
  const std::uint64_t bytes_max = std::min(kAheadBytesMax, device_.info().memory_bytes / kDevicePerAhead);
  for (std::uint64_t n = std::min(kAheadMax, bytes_max / each); n > 0; n /= 2) {
    KQ_TRY_VALUE(auto block, device_.make_private(n * each));
    if (!block) continue;  // fewer, then
    block_ = std::move(block);
    for (std::uint64_t i = 0; i < n; ++i) {
      spare_.push_back({.seeds = {},
                        .pristine = std::make_unique<PartMemory>(*block_, i * each, input_bytes_),
                        .expected = std::make_unique<PartMemory>(*block_, i * each + input_bytes_, output_bytes_),
                        .inputs = {},
                        .outputs = {}});
    }
    return {};
  }
  return {};
}

}  // namespace kq::judge
