// Keeping the GPU busy with the judge's own work before and after a call, so that nobody else's work there stays unseen
// or counts.
//
//   begin   a gate: one thread that waits for the host, so that everything queued from here on runs without a pause
//   (copies and fills of the caller)
//   hold    stamp | empty the L2 cache, stamp, once more | holder: one thread that waits until it is released; the gate
//   opens release the holder ends, under the clock (the call) probe   a word of ours has run; a gate behind it keeps
//   the GPU, so that what is copied now is what was there then (copies of the caller) settle  stamp; the gate opens,
//   and everything is waited for
//
// A GPU runs one context at a time (there is no MPS here) and switches when one has nothing more to do, or its slice of
// some milliseconds is over. So anybody else's work shows as time in which the judge's did not advance: until the first
// gate begins, which waits for a slice of theirs; on the way from a stamp to what is queued behind it; or as a gap
// while a gate or the holder looks at its clock.
#pragma once

#include <cstdint>

#include "core/base/error.h"
#include "gpu_worker/judge/device/cuda_driver.h"
#include "gpu_worker/judge/device/cuda_kernels.h"
#include "gpu_worker/judge/device/cuda_mapped.h"
#include "gpu_worker/judge/device/memory_speed.h"

namespace kq::judge::cuda {

class Hold {
 public:
  Hold(const Driver& driver, const Kernels& kernels) : driver_(driver), kernels_(kernels), shared_(driver) {}
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  // `l2_bytes` of the device's cache. Goes through one hold, so that what the driver loads lazily is there.
  Expected<void> open(std::uint64_t l2_bytes);
  Expected<void> begin();
  Expected<void> hold();
  void release();
  Expected<void> probe();
  Expected<void> settle();
  bool is_begun() const { return is_begun_; }
  std::int64_t occupancy_gap_ns() const;
  // Of the last hold, once it is settled: how long the memory took for what the judge writes there, by what is usual.
  // 1: that is not known.
  double memory_slowness() const { return memory_speed_.slowness(); }
  // Holds of nothing, until the memory is as quick as usual or the time is over.
  Expected<void> await_quick_memory(std::int64_t limit_ns);
  // Between begin and hold: so many bytes were queued to be copied or filled. Between probe and settle: likewise, and
  // their time is no absence.
  void note_copied(std::uint64_t bytes) {
    copied_bytes_ += bytes;
    ++copies_;
  }

 private:
  Expected<void> cycle();
  Expected<void> empty_cache();
  Expected<void> wait_for(std::uint32_t& word) const { return await_number(driver_, word, number_); }
  // In mapped host memory, a cache line each.
  struct alignas(64) Shared {
    HoldWords gate;
    alignas(64) HoldWords holder;
    alignas(64) std::uint64_t before_ns;  // stamps
    alignas(64) std::uint64_t emptied_ns;
    alignas(64) std::uint64_t after_ns;
    alignas(64) std::uint32_t probed;
  };

  const Driver& driver_;
  const Kernels& kernels_;
  Mapped<Shared> shared_;
  Pointer flush_ = 0;
  std::uint64_t flush_bytes_ = 0;
  std::uint32_t number_ = 0;
  MemorySpeed memory_speed_;
  bool is_long_ = false;  // the last hold's sequence
  bool is_held_ = false;  // since the last settle
  std::int64_t begin_wait_ns_ = 0;
  std::int64_t gap_before_ns_ = 0;
  std::int64_t gap_after_ns_ = 0;
  std::uint64_t copied_bytes_ = 0;
  std::int64_t copies_ = 0;
  bool is_begun_ = false;  // between begin and hold, or probe and settle: a gate is closed
};

}  // namespace kq::judge::cuda
