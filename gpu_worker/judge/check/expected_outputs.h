// The results of the reference that the judge keeps in memory which no child can reach: those of the current trial, and
// those of later trials that were computed ahead, in their order.
//
//   free_count() -> next_free() -> the caller fills it -> push_ahead() -> ahead, ahead, ... -> advance() -> current ->
//   free
//
// The current trial has memory of its own. Trials ahead share one block, which is allocated on first use: for as many
// trials as the limits below allow and the device has room for, which may be none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "gpu_worker/judge/child/failure.h"
#include "gpu_worker/judge/device/device.h"
#include "gpu_worker/judge/tensor/layout.h"

namespace kq::judge {

// While a submission loads, the reference can compute some dozens of trials (H200: 20 ms, 0.2 ms each); while a slow
// one loads, all of them.
inline constexpr std::uint64_t kTrialsAheadMax = 64;
inline constexpr std::uint64_t kTrialsAheadBytesMax = 256ull << 20;
inline constexpr std::uint64_t kDeviceShareOfAhead = 64;  // the block is at most 1/64 of the device's memory

using channel::Seeds;

// One trial as the reference has made it.
struct ReferenceTrial {
  Seeds seeds;
  // These two are copies of regions of the window; a tensor lies at its offset less the region's begin.
  std::unique_ptr<Memory> input_copies;
  std::unique_ptr<Memory> expected;
  std::vector<Tensor> inputs;  // the table's rows, with the plain values of this trial
  std::vector<Tensor> outputs;
};

// Holds the current trial and the trials ahead, and moves each from one state to the next.
class ExpectedOutputs {
 public:
  explicit ExpectedOutputs(Device& device) : device_(device) {}

  // Frees all memory.
  void clear();
  // Frees all memory and allocates the current trial's. Stops with too_large where there is no room.
  Step<void> lay_out(const Layout& layout);

  ReferenceTrial& current() { return current_; }
  const ReferenceTrial& current() const { return current_; }

  // Returns how many more trials can be kept ahead. Allocates the block on first use.
  Expected<std::size_t> free_count();
  // Returns the trial that the next push_ahead() adds. Needs a free one.
  ReferenceTrial& next_free() { return free_.back(); }
  // Adds next_free() behind the other trials ahead.
  void push_ahead();
  std::size_t ahead_count() const { return ahead_.size(); }
  // Returns the seeds of the oldest trial ahead, or null where there is none.
  const Seeds* next_seeds() const { return ahead_.empty() ? nullptr : &ahead_.front().seeds; }
  // Makes the oldest trial ahead the current one.
  void advance();
  // Drops all trials ahead.
  void discard_ahead();
  // Calls `visit` with the expected outputs of trials before the current one whose memory was not used again, until it
  // returns true. Returns whether it has.
  bool any_earlier(const std::function<bool(const Memory& expected)>& visit) const;
  // Forgets the earlier trials, because they belong to another model.
  void forget_earlier();

 private:
  Expected<void> make_block();

  Device& device_;
  std::uint64_t input_bytes_ = 0;
  std::uint64_t output_bytes_ = 0;
  bool has_block_ = false;         // allocation was tried; block_ is null where there was no room
  std::unique_ptr<Memory> block_;  // outlives the trials in it
  ReferenceTrial current_;
  std::deque<ReferenceTrial> ahead_;  // the oldest first
  std::vector<ReferenceTrial> free_;
};

}  // namespace kq::judge
