// The port to the memory in which tensors lie: host memory (cpu_device.cc) or a GPU's (cuda_device.cc). All code above
// the port is the same for both.
//
// A window is shared with one child by its descriptor. No other process ever maps a private buffer. Every operation is
// complete when it returns, except where the step objects of steps.h say that work is only queued. An Error always
// means a failure of kq or the machine. Where there is no room for memory, the result is a null pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/error.h"
#include "core/device.h"
#include "gpu_worker/channel/channel.h"
#include "gpu_worker/judge/device/memory.h"
#include "gpu_worker/judge/device/records.h"
#include "gpu_worker/judge/device/steps.h"
#include "gpu_worker/judge/tensor/tolerance.h"

namespace kq::judge {

// A comparison that a device can make by itself: whether memory holds what it should.
struct DeviceComparison {
  const Memory* expected = nullptr;  // null: `word`, repeated
  std::uint64_t expected_offset = 0;
  const Memory* got = nullptr;
  std::uint64_t got_offset = 0;
  std::uint64_t bytes = 0;
  // With a dtype, numbers are compared and may differ by the tolerance. Without it, bytes are compared and may not.
  std::optional<channel::Dtype> dtype = {};
  Tolerance tolerance = {};
  std::uint32_t word = 0;  // its first byte belongs to offsets that are multiples of four
};
// The truth of the numbers that a comparison compares: float64 or float32.
struct DeviceTruth {
  const Memory* memory = nullptr;
  std::uint64_t offset = 0;
  channel::Dtype dtype = channel::Dtype::none;
};
// The most comparisons in one call of start_comparisons().
inline constexpr std::size_t kDeviceComparisonsMax = 64;

class ConcurrentWarmUps;

class Device {
 public:
  virtual ~Device() = default;

  // The warm-ups of children that may use the device at the same time as the judge; null where there are none.
  ConcurrentWarmUps* concurrent_warm_ups() const { return concurrent_warm_ups_; }
  void set_concurrent_warm_ups(ConcurrentWarmUps* warm_ups) { concurrent_warm_ups_ = warm_ups; }

  virtual const DeviceInfo& info() const = 0;
  virtual Expected<std::unique_ptr<Memory>> make_window(std::uint64_t bytes) = 0;
  virtual Expected<std::unique_ptr<Memory>> make_private(std::uint64_t bytes) = 0;

  virtual Expected<void> copy(const Memory& to, std::uint64_t to_offset, const Memory& from, std::uint64_t from_offset,
                              std::uint64_t bytes) = 0;
  virtual Expected<void> read(std::span<std::byte> to, const Memory& from, std::uint64_t offset) = 0;
  // Writes `word` repeatedly; offset and bytes are multiples of four.
  virtual Expected<void> fill(const Memory& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) = 0;

  // The operations of several steps; steps.h describes the objects that they return.
  CopyBatch batch_copies();
  // Compares at most kDeviceComparisonsMax memories while the caller does other work. The results of the comparisons
  // before must have been received.
  Expected<PendingComparisons> start_comparisons(std::span<const DeviceComparison> comparisons);
  Expected<GatedQueue> open_queue();
  Probe probe();

  // Makes comparisons and waits for their results, which PendingComparisons::finish() describes.
  Expected<std::vector<std::optional<Agreement>>> compare(std::span<const DeviceComparison> comparisons);
  // Measure real floating-point numbers, as the host's comparisons do (records.h). Return nothing where the device does
  // not measure such numbers by itself or has no room for the records; then the caller measures on the host.
  virtual Expected<std::optional<ErrorRecord>> measure(const DeviceComparison& /*comparison*/) {
    return std::optional<ErrorRecord>();
  }
  virtual Expected<std::optional<TruthRecord>> measure_by_truth(const DeviceTruth& /*truth*/,
                                                                const DeviceComparison& /*comparison*/) {
    return std::optional<TruthRecord>();
  }
  // Probes and settles. Fails where the device's context has broken.
  Expected<void> check_context();

  // Returns the least time in which the device can write so many bytes, or 0 where that is not known.
  virtual double write_floor_ns(std::uint64_t /*bytes*/) const { return 0; }

  // Returns how long the spin goes on while a child launches its work, given the usual time for that. Returns 0 where a
  // spin does not occupy the device.
  virtual std::int64_t launch_ns(std::int64_t /*usual_ns*/) const { return 0; }
  // Returns for how long around the last call another process may have used the device. Valid once that call's probe is
  // settled. The begin of the sequence and the flush of the caches are part of it, so only the excess over other calls
  // has a meaning. 0 where nothing is known.
  virtual std::int64_t occupancy_gap_ns() = 0;
  // Returns how much longer than usual the device's memory took for the flush before the last call (memory_speed.h):
  // 1 for no longer, or where that is not known. Valid as above.
  virtual double memory_slowness() { return 1; }
  // Waits until the memory is as fast as usual, at most limit_ns.
  virtual Expected<void> await_quick_memory(std::int64_t /*limit_ns*/) { return {}; }
  // Runs the steps of a timed call without a call. Afterwards the device is as it is between two calls: the judge's
  // context has it, and not that of another process which has just worked for the judge.
  virtual Expected<void> run_without_call() { return {}; }

 private:
  // The steps, which only the objects of steps.h call, in their order.
  friend class CopyBatch;
  friend class PendingComparisons;
  friend class GatedQueue;
  friend class RunningSpin;
  friend class Probe;
  virtual void begin_copies() {}
  virtual Expected<void> finish_copies() { return {}; }
  virtual Expected<void> send_comparisons(std::span<const DeviceComparison> /*comparisons*/) { return {}; }
  virtual Expected<std::vector<std::optional<Agreement>>> receive_comparisons() {
    return std::vector<std::optional<Agreement>>();
  }
  virtual Expected<void> close_gate() = 0;
  virtual Expected<void> start_spin() = 0;
  virtual void stop_spin() = 0;
  virtual Expected<void> run_probe() = 0;
  virtual Expected<void> settle() = 0;

  ConcurrentWarmUps* concurrent_warm_ups_ = nullptr;
};

}  // namespace kq::judge
