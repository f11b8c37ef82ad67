#include "gpu_worker/judge/check/expected_outputs.h"

#include <algorithm>
#include <utility>

#include "gpu_worker/judge/child/window.h"

namespace kq::judge {

void ExpectedOutputs::clear() {
  current_ = {};
  ahead_.clear();
  free_.clear();
  block_.reset();
  has_block_ = false;
}

Step<void> ExpectedOutputs::lay_out(const Layout& layout) {
  clear();
  input_bytes_ = layout.inputs.bytes();
  output_bytes_ = layout.outputs.bytes();
  KQ_TRY_VALUE(auto input_copies, make_memory(device_, &Device::make_private, input_bytes_));
  KQ_TRY_VALUE(auto expected, make_memory(device_, &Device::make_private, output_bytes_));
  current_.input_copies = std::move(input_copies);
  current_.expected = std::move(expected);
  return {};
}

Expected<std::size_t> ExpectedOutputs::free_count() {
  if (!has_block_) {
    KQ_TRY(make_block());
  }
  return free_.size();
}

void ExpectedOutputs::push_ahead() {
  ahead_.push_back(std::move(free_.back()));
  free_.pop_back();
}

void ExpectedOutputs::advance() {
  free_.push_back(std::exchange(current_, std::move(ahead_.front())));
  ahead_.pop_front();
}

void ExpectedOutputs::discard_ahead() {
  std::ranges::move(ahead_, std::back_inserter(free_));
  ahead_.clear();
}

bool ExpectedOutputs::any_earlier(const std::function<bool(const Memory& expected)>& visit) const {
  return std::ranges::any_of(
      free_, [&](const ReferenceTrial& trial) { return !trial.outputs.empty() && visit(*trial.expected); });
}

void ExpectedOutputs::forget_earlier() {
  for (ReferenceTrial& trial : free_) trial.outputs.clear();
}

Expected<void> ExpectedOutputs::make_block() {
  has_block_ = true;
  const std::uint64_t each = input_bytes_ + output_bytes_;
  const std::uint64_t bytes_max = std::min(kTrialsAheadBytesMax, device_.info().memory_bytes / kDeviceShareOfAhead);
  for (std::uint64_t n = std::min(kTrialsAheadMax, bytes_max / each); n > 0; n /= 2) {
    KQ_TRY_VALUE(auto block, device_.make_private(n * each));
    if (!block) continue;  // fewer, then
    block_ = std::move(block);
    for (std::uint64_t i = 0; i < n; ++i) {
      free_.push_back({.seeds = {},
                       .input_copies = std::make_unique<PartMemory>(*block_, i * each, input_bytes_),
                       .expected = std::make_unique<PartMemory>(*block_, i * each + input_bytes_, output_bytes_),
                       .inputs = {},
                       .outputs = {}});
    }
    return {};
  }
  return {};
}

}  // namespace kq::judge
