// The port to where tensors live: host memory (cpu_device.cc) or a GPU (cuda_device.cc). Everything above it is the
// same code for both.
//
// A window is shared with one child by its descriptor; a private buffer is never mapped by anyone else. Every operation
// is complete when it returns, except between begin_hold() and hold(), probe() and settle(), begin_copies() and
// finish_copies(), begin_looks() and finish_looks(). An Error is always our own fault; "no room" is a normal answer and
// comes back as a null pointer.
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
#include "gpu_worker/judge/tensor/tolerance.h"

namespace kq::judge {

// What a device looks at by itself: whether memory holds what it should.
struct DeviceComparison {
  const Memory* expected = nullptr;  // null: `word` over and over
  std::uint64_t expected_offset = 0;
  const Memory* got = nullptr;
  std::uint64_t got_offset = 0;
  std::uint64_t bytes = 0;
  std::optional<channel::Dtype> dtype =
      {};  // of numbers, which may differ by the tolerance; without: bytes, which may not
  Tolerance tolerance = {};
  std::uint32_t word = 0;  // written from a multiple of four on
};
// The worst errors of numbers that all agree.
struct Agreement {
  double max_abs_err = 0;
  double max_rel_err = 0;
};
inline constexpr std::size_t kDeviceComparisonsMax = 64;  // at once

class ConcurrentWarmUps;

class Device {
 public:
  virtual ~Device() = default;

  // Who may be at work on it beside the judge; null: nobody.
  ConcurrentWarmUps* concurrent_warm_ups() const { return concurrent_warm_ups_; }
  void set_concurrent_warm_ups(ConcurrentWarmUps* concurrent_warm_ups) { concurrent_warm_ups_ = concurrent_warm_ups; }

  virtual const DeviceInfo& info() const = 0;
  virtual Expected<std::unique_ptr<Memory>> make_window(std::uint64_t bytes) = 0;
  virtual Expected<std::unique_ptr<Memory>> make_private(std::uint64_t bytes) = 0;

  virtual Expected<void> copy(const Memory& to, std::uint64_t to_offset, const Memory& from, std::uint64_t from_offset,
                              std::uint64_t bytes) = 0;
  virtual Expected<void> read(std::span<std::byte> to, const Memory& from, std::uint64_t offset) = 0;
  // Writes `word` over and over; offset and bytes are multiples of four.
  virtual Expected<void> fill(const Memory& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) = 0;
  // Between these two copy() and fill() only queue, and all of it is complete when the second one returns. Nobody may
  // write there meanwhile.
  virtual void begin_copies() {}
  virtual Expected<void> finish_copies() { return {}; }
  // Runs one word of work in the judge's own context and waits for it: on a GPU it waits for whatever a child left
  // running. Nobody else gets the device from there until settle(); what copy() does meanwhile is only queued.
  virtual Expected<void> probe() = 0;
  // What was queued since the probe is complete, and the device free again.
  virtual Expected<void> settle() = 0;

  // Looks at all of them, kLooksMax at most, while the caller does something else; finish_looks() comes before the next
  // ones.
  virtual Expected<void> begin_looks(std::span<const DeviceComparison> /*looks*/) { return {}; }
  // Of each in order, nothing where something differs: then the caller looks from the host, which also finds out where.
  // None at all from a device that cannot look.
  virtual Expected<std::vector<std::optional<Agreement>>> finish_looks() {
    return std::vector<std::optional<Agreement>>();
  }

  // Nobody writes so many bytes there in less than this; 0: that is not known.
  virtual double write_floor_ns(std::uint64_t /*bytes*/) const { return 0; }

  // How long a hold goes on for what a child launches, where that is usually so long; 0: hold() keeps nobody from the
  // device.
  virtual std::int64_t launch_ns(std::int64_t /*usual_ns*/) const { return 0; }
  // Opens the sequence before a call: what copy() and fill() do from here on is only queued, and runs without a pause
  // once hold() comes.
  virtual Expected<void> begin_hold() = 0;
  // Ends that sequence: empties the device's caches and keeps it busy with the judge's own work until release().
  // Returns after a random time, of which the caller may make `go` at any moment. A hold that nobody releases ends by
  // itself.
  virtual Expected<void> hold() = 0;
  // Ends the hold. Does not block: it runs under the clock.
  virtual void release() = 0;
  // Of the last hold, once it is settled: for how long around the call the device may have been somebody else's.
  // Beginning and emptying the caches are in it, so that only the excess over other holds means anything. 0 where
  // nothing can be said.
  virtual std::int64_t occupancy_gap_ns() = 0;
  // Of the last hold, likewise: how long the device's memory took for the same work, by what is usual (memory_speed.h).
  // 1: that is not known.
  virtual double memory_slowness() { return 1; }
  // Until the memory is as quick as usual, or the time is over.
  virtual Expected<void> await_quick_memory(std::int64_t /*limit_ns*/) { return {}; }

 private:
  ConcurrentWarmUps* concurrent_warm_ups_ = nullptr;
};

}  // namespace kq::judge
