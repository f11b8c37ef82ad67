// The operations of a Device that take two or more steps. Each step returns an object, and the next step is a member of
// that object, so the compiler refuses steps in a wrong order. If an object is destroyed before its next step was
// called, its destructor ends the operation: it waits for the queued work, opens the gate or stops the spin.
//
//   device.batch_copies() -> CopyBatch -> finish()
//   device.start_comparisons(...) -> PendingComparisons -> finish()
//   device.open_queue() -> GatedQueue -> start_spin() -> RunningSpin -> stop()
//   device.probe() -> Probe -> settle()
//
// The device must outlive the objects.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace kq::judge {

class Device;

// The worst errors of numbers that all agree within their tolerance.
struct Agreement {
  double max_abs_err = 0;
  double max_rel_err = 0;
};

// While a CopyBatch exists, Device::copy() and Device::fill() only queue their work. Until finish(), no other process
// may write to the memories that they read and write.
class [[nodiscard]] CopyBatch {
 public:
  CopyBatch(CopyBatch&& other) noexcept : device_(std::exchange(other.device_, nullptr)) {}
  ~CopyBatch();
  // Waits for all queued copies and fills.
  Expected<void> finish() &&;

 private:
  friend class Device;
  explicit CopyBatch(Device& device);
  Device* device_;  // null after finish()
};

// Comparisons that the device makes while the caller does other work.
class [[nodiscard]] PendingComparisons {
 public:
  PendingComparisons(PendingComparisons&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), count_(other.count_) {}
  ~PendingComparisons();
  std::size_t count() const { return count_; }
  // Waits for the results and returns one for each comparison, in order. A result is empty if that comparison found a
  // difference (of numbers: more than the tolerance); then the caller compares on the host, which also finds the first
  // difference. The vector is empty if the device cannot compare.
  Expected<std::vector<std::optional<Agreement>>> finish() &&;

 private:
  friend class Device;
  PendingComparisons(Device& device, std::size_t count) : device_(&device), count_(count) {}
  Device* device_;  // null after finish()
  std::size_t count_;
};

// A spin kernel of the judge, which occupies the device from start_spin() until stop(). A spin that is never stopped
// ends by itself after a second.
class [[nodiscard]] RunningSpin {
 public:
  RunningSpin(RunningSpin&& other) noexcept : device_(std::exchange(other.device_, nullptr)) {}
  ~RunningSpin();
  // Ends the spin. Does not block, because it runs in the timed interval.
  void stop();

 private:
  friend class GatedQueue;
  explicit RunningSpin(Device& device) : device_(&device) {}
  Device* device_;  // null after stop()
};

// The queue of work that runs just before a timed call. While it exists, Device::copy() and Device::fill() only queue
// their work behind a gate. start_spin() opens the gate, and all queued work runs without a pause.
class [[nodiscard]] GatedQueue {
 public:
  GatedQueue(GatedQueue&& other) noexcept : device_(std::exchange(other.device_, nullptr)) {}
  ~GatedQueue();
  // Flushes the device's caches behind the queued work, then occupies the device with the spin kernel until
  // RunningSpin::stop(). Returns after a random time, so that a child cannot foresee the moment of its next command.
  Expected<RunningSpin> start_spin() &&;

 private:
  friend class Device;
  explicit GatedQueue(Device& device) : device_(&device) {}
  Device* device_;  // null after start_spin()
};

// A write of one word by the judge after a timed call. The GPU runs one context at a time, so the word is written only
// when the GPU has switched from the child's context to the judge's. A gate behind the write occupies the GPU until
// settle(), so that no other process can use it; until then Device::copy() and Device::fill() only queue their work.
class [[nodiscard]] Probe {
 public:
  Probe(Probe&& other) noexcept : device_(std::exchange(other.device_, nullptr)), result_(std::move(other.result_)) {}
  // Settles if the word was written and settle() was not called.
  ~Probe();
  // Fails if the word could not be written. The constructor has waited for it.
  const Expected<void>& result() const { return result_; }
  // Opens the gate and waits for all work that was queued behind it. Then other processes can use the device again.
  Expected<void> settle() &&;

 private:
  friend class Device;
  explicit Probe(Device& device);
  Device* device_;  // null after settle()
  Expected<void> result_;
};

}  // namespace kq::judge
