// The kernels with which the judge occupies the GPU before and after a call, so that work of another process in that
// time is seen and does not count.
//
//   close_gate  a gate: one thread that spins until the host opens it, so that all work that is queued from here on
//               runs without a pause
//               (the caller queues copies and fills)
//   start_spin  stamp | flush half of the L2 cache, stamp, flush the other half | spin: one thread that spins until the
//               host stops it; the gate opens
//   stop_spin   the spin ends: this call is in the timed interval
//               (the call)
//   probe       a kernel writes one word, and the host waits for the word; a gate behind the kernel occupies the GPU,
//               so that the copies below read the memory as it was when the word was written
//               (the caller queues copies)
//   settle      stamp; the gate opens, and the host waits for the stamp
//
// A GPU runs one context at a time (kq does not use MPS). It switches to another context when the current one has no
// more work or when its time slice of some milliseconds ends. So work of another process shows as time in which the
// judge's work does not advance: until the first gate begins, which waits for the other context's slice; between a
// stamp and the kernel behind it; or as a gap between two polls of a gate or a spin. The sum is the occupancy gap.
#pragma once

#include <cstdint>

#include "core/base/error.h"
#include "gpu_worker/judge/device/cuda_driver.h"
#include "gpu_worker/judge/device/cuda_kernels.h"
#include "gpu_worker/judge/device/cuda_mapped.h"
#include "gpu_worker/judge/device/memory_speed.h"

namespace kq::judge::cuda {

// Runs the sequence above. CudaDevice, its only user, calls the steps in their order.
class SpinKernel {
 public:
  // Both must outlive this object. The context must be current.
  SpinKernel(const Driver& driver, const Kernels& kernels) : driver_(driver), kernels_(kernels), shared_(driver) {}
  ~SpinKernel();
  SpinKernel(const SpinKernel&) = delete;
  SpinKernel& operator=(const SpinKernel&) = delete;

  // `l2_bytes` is the size of the device's cache. Runs one sequence, so that the driver loads what it loads lazily.
  Expected<void> open(std::uint64_t l2_bytes);
  Expected<void> close_gate();
  Expected<void> start_spin();
  void stop_spin();
  Expected<void> probe();
  Expected<void> settle();
  // Returns whether work is queued behind a gate: between close_gate() and start_spin(), and between probe() and
  // settle().
  bool is_gate_closed() const { return is_gate_closed_; }
  // Returns the occupancy gap of the last sequence, in nanoseconds of the GPU's and the host's clocks. It is complete
  // after settle().
  std::int64_t occupancy_gap_ns() const;
  // Returns how much longer than usual the device's memory took for the flush of the last sequence: 1 for no longer, or
  // where that is not known.
  double memory_slowness() const { return memory_speed_.slowness(); }
  // Runs one sequence without a call.
  Expected<void> run_once();
  // Runs sequences without a call until the memory is as fast as usual or limit_ns are over.
  Expected<void> await_quick_memory(std::int64_t limit_ns);
  // Notes that the caller has queued a copy or fill of `bytes` behind a gate. occupancy_gap_ns() does not count the
  // time of copies behind probe().
  void note_copied(std::uint64_t bytes) {
    copied_bytes_ += bytes;
    ++copies_;
  }

 private:
  Expected<void> flush_cache();
  Expected<void> wait_for(std::uint32_t& word) const { return await_number(driver_, word, number_); }
  // In mapped host memory; each member has a cache line of its own.
  struct alignas(64) Shared {
    SpinWords gate;
    alignas(64) SpinWords spin;
    alignas(64) std::uint64_t before_ns;   // the stamp before the flush
    alignas(64) std::uint64_t flushed_ns;  // the stamp between the halves of the flush
    alignas(64) std::uint64_t after_ns;    // the stamp of settle()
    alignas(64) std::uint32_t probed;
  };

  const Driver& driver_;
  const Kernels& kernels_;
  Mapped<Shared> shared_;
  Pointer flush_ = 0;
  std::uint64_t flush_bytes_ = 0;
  std::uint32_t number_ = 0;
  MemorySpeed memory_speed_;
  bool is_long_ = false;   // whether the last sequence copied more than kSliceBytes
  bool has_spun_ = false;  // since the last settle()
  std::int64_t gate_wait_ns_ = 0;
  std::int64_t gap_before_ns_ = 0;
  std::int64_t gap_after_ns_ = 0;
  std::uint64_t copied_bytes_ = 0;
  std::int64_t copies_ = 0;
  bool is_gate_closed_ = false;
};

}  // namespace kq::judge::cuda
