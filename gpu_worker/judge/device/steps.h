// The operations of a Device that take two or more steps. Each step returns an object, and the next step is a member of
// that object: steps in a wrong order cannot be written. An object that goes away before its last step takes that step,
// so that nothing stays open.
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

// While it exists, copy() and fill() only queue their work. No other process may write to that memory meanwhile.
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
  // Waits for the results and returns one for each comparison, in order. A result is empty where the memories differ;
  // then the caller compares on the host, which also finds the first difference. From a device that cannot compare by
  // itself there are no results at all.
  Expected<std::vector<std::optional<Agreement>>> finish() &&;

 private:
  friend class Device;
  PendingComparisons(Device& device, std::size_t count) : device_(&device), count_(count) {}
  Device* device_;  // null after finish()
  std::size_t count_;
};

// The judge's own work occupies the device from start_spin() until stop(). A spin that is never stopped ends by itself
// after a second.
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

// What precedes a timed call: copy() and fill() only queue their work behind a gate, and all of it runs without a pause
// after start_spin().
class [[nodiscard]] GatedQueue {
 public:
  GatedQueue(GatedQueue&& other) noexcept : device_(std::exchange(other.device_, nullptr)) {}
  ~GatedQueue();
  // Flushes the device's caches behind the queued work, then occupies the device with the judge's own work until
  // RunningSpin::stop(). Returns after a random time, so that a child cannot foresee the moment of its next command.
  Expected<RunningSpin> start_spin() &&;

 private:
  friend class Device;
  explicit GatedQueue(Device& device) : device_(&device) {}
  Device* device_;  // null after start_spin()
};

// One word of work in the judge's own context, which has run behind whatever a child left running on the device. No
// other process gets the device until settle(); until then copy() and fill() only queue their work.
class [[nodiscard]] Probe {
 public:
  Probe(Probe&& other) noexcept : device_(std::exchange(other.device_, nullptr)), result_(std::move(other.result_)) {}
  // Settles where the word has run and settle() was not called.
  ~Probe();
  // Whether the word has run.
  const Expected<void>& result() const { return result_; }
  // Waits for all work that was queued since the probe, and frees the device.
  Expected<void> settle() &&;

 private:
  friend class Device;
  explicit Probe(Device& device);
  Device* device_;  // null after settle()
  Expected<void> result_;
};

}  // namespace kq::judge
