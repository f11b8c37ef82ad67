// What the judge keeps of the reference's answers, where no child can reach it: those of the trial at hand and, in
// their order, those made ahead.
//
//   room() -> begin_next() -> filled by the reference -> keep_next() -> ahead, ahead, ... -> take_next() -> at hand ->
//   spare
//
// The one at hand has memory of its own. Those ahead share a block, which is there from the first of them on: as many
// as the limits below allow and the device has room for, which may be none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "gpu_worker/judge/child/failure.h"
#include "gpu_worker/judge/device/device.h"
#include "gpu_worker/judge/tensor/layout.h"

namespace kq::judge {

// A submission loads in the time of some dozens of answers (H200: 20 ms, 0.2 ms each), a slow one of all.
inline constexpr std::uint64_t kTrialsAheadMax = 64;
inline constexpr std::uint64_t kTrialsAheadBytesMax = 256ull << 20;
inline constexpr std::uint64_t kDeviceShareOfAhead = 64;  // no more than this part of the device's memory

using channel::Seeds;

struct ReferenceTrial {
  Seeds seeds;
  std::unique_ptr<Memory>
      input_copies;  // copies of the window's regions; a tensor lies at its offset less the region's begin
  std::unique_ptr<Memory> expected;
  std::vector<Tensor> inputs;  // rows with the plain values of this trial
  std::vector<Tensor> outputs;
};

class ExpectedOutputs {
 public:
  explicit ExpectedOutputs(Device& device) : device_(device) {}

  // Gives back what is there, and makes room for the one at hand; where there is none, too_large.
  void clear();
  Step<void> lay_out(const Layout& layout);

  ReferenceTrial& current() { return current_; }
  const ReferenceTrial& current() const { return current_; }

  // For how many more there is room.
  Expected<std::size_t> free_count();
  // Where the next one may be kept, while there is room; it is nobody's until keep_next().
  ReferenceTrial& next_free() { return free_.back(); }
  void push_ahead();
  std::size_t ahead_count() const { return ahead_.size(); }
  // The seeds of the oldest one of them; null: there is none.
  const Seeds* next_seeds() const { return ahead_.empty() ? nullptr : &ahead_.front().seeds; }
  // It is at hand from here on.
  void advance();
  // Those made ahead are for nothing.
  void discard_ahead();

 private:
  Expected<void> make_block();

  Device& device_;
  std::uint64_t input_bytes_ = 0;
  std::uint64_t output_bytes_ = 0;
  bool has_block_ = false;         // or there is no room for one
  std::unique_ptr<Memory> block_;  // outlives the answers in it
  ReferenceTrial current_;
  std::deque<ReferenceTrial> ahead_;  // the oldest first
  std::vector<ReferenceTrial> free_;  // the last one is begun
};

}  // namespace kq::judge
