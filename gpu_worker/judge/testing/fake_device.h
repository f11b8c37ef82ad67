// For tests: the CPU as a device, except that a test chooses how much memory there is, how fast it is, and which other
// processes use the device.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "gpu_worker/judge/check/memory_checks.h"
#include "gpu_worker/judge/device/cpu_device.h"
#include "gpu_worker/judge/testing/measured_on_host.h"

namespace kq::judge {

class FakeDevice : public Device {
 public:
  DeviceInfo described = (*open_cpu_device())->info();
  std::uint64_t private_bytes_max = ~0ull;                         // there is no room for a larger private buffer
  std::uint64_t window_bytes_max = ~0ull;                          // there is no room for a larger window
  std::function<std::int64_t()> occupancy_gap = [] { return 0; };  // asked after each call
  std::function<double()> slowness = [] { return 1.0; };           // of the memory, asked after each call
  std::function<void()> at_slow_memory = [] {};                    // runs when the judge waits for fast memory
  int runs_without_call = 0;
  int windows = 0;  // made so far
  std::uint64_t copied_bytes = 0;
  bool can_compare = false;                     // whether it compares and measures by itself, as a GPU can
  int measurements = 0;                         // of outputs that it has measured by itself
  int byte_comparisons = 0;                     // requested comparisons of the bytes of two memories
  std::function<void()> at_comparison = [] {};  // runs before the results are received
  double floor_ns = 0;                          // the least time of any write
  bool waits_for_launches = false;              // whether calls wait until a child has launched its work
  std::atomic<int> spins_started = 0, spins_stopped = 0;

  const DeviceInfo& info() const override { return described; }
  Expected<std::unique_ptr<Memory>> make_window(std::uint64_t bytes) override {
    ++windows;
    return bytes <= window_bytes_max ? cpu_->make_window(bytes) : std::unique_ptr<Memory>();
  }
  Expected<std::unique_ptr<Memory>> make_private(std::uint64_t bytes) override {
    return bytes <= private_bytes_max ? cpu_->make_private(bytes) : std::unique_ptr<Memory>();
  }
  Expected<void> copy(const Memory& to, std::uint64_t to_offset, const Memory& from, std::uint64_t from_offset,
                      std::uint64_t bytes) override {
    copied_bytes += bytes;
    return cpu_->copy(to, to_offset, from, from_offset, bytes);
  }
  Expected<void> read(std::span<std::byte> to, const Memory& from, std::uint64_t offset) override {
    return cpu_->read(to, from, offset);
  }
  Expected<void> fill(const Memory& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) override {
    return cpu_->fill(to, offset, bytes, word);
  }
  Expected<std::optional<ErrorRecord>> measure(const DeviceComparison& comparison) override {
    if (!can_compare || !is_real(comparison)) return std::optional<ErrorRecord>();
    ++measurements;
    return std::optional(measured_on_host(comparison));
  }
  Expected<std::optional<TruthRecord>> measure_by_truth(const DeviceTruth& truth,
                                                        const DeviceComparison& comparison) override {
    if (!can_compare || !is_real(comparison)) return std::optional<TruthRecord>();
    ++measurements;
    return std::optional(measured_on_host(truth, comparison));
  }
  double write_floor_ns(std::uint64_t bytes) const override { return bytes > 0 ? floor_ns : 0; }
  std::int64_t launch_ns(std::int64_t) const override { return waits_for_launches ? 10'000'000'000 : 0; }
  std::int64_t occupancy_gap_ns() override { return occupancy_gap(); }
  double memory_slowness() override { return slowness(); }
  Expected<void> await_quick_memory(std::int64_t) override {
    at_slow_memory();
    return {};
  }
  Expected<void> run_without_call() override {
    ++runs_without_call;
    return {};
  }

 private:
  Expected<void> send_comparisons(std::span<const DeviceComparison> comparisons) override {
    byte_comparisons += static_cast<int>(std::ranges::count_if(comparisons, [](const DeviceComparison& comparison) {
      return comparison.expected != nullptr && !comparison.dtype;
    }));
    results_.clear();
    if (can_compare) std::ranges::transform(comparisons, std::back_inserter(results_), compared_on_host);
    return {};
  }
  Expected<std::vector<std::optional<Agreement>>> receive_comparisons() override {
    at_comparison();
    return std::move(results_);
  }
  Expected<void> close_gate() override {
    ++spins_started;
    return {};
  }
  Expected<void> start_spin() override { return {}; }
  void stop_spin() override { spins_stopped = spins_started.load(); }
  Expected<void> run_probe() override { return {}; }
  Expected<void> settle() override { return {}; }

  static std::optional<Agreement> compared_on_host(const DeviceComparison& wanted) {
    const auto got = bytes_of(*wanted.got, wanted.got_offset, wanted.bytes);
    if (wanted.expected == nullptr) {
      for (std::uint64_t i = 0; i < wanted.bytes; ++i) {
        if (got[i] != byte_of(wanted.word, wanted.got_offset + i)) return std::nullopt;
      }
      return Agreement{};
    }
    Comparison comparison(wanted.dtype.value_or(channel::Dtype::uint8), wanted.tolerance);
    comparison.add(bytes_of(*wanted.expected, wanted.expected_offset, wanted.bytes), got);
    return comparison.equal() ? std::optional(Agreement{comparison.max_abs_err(), comparison.max_rel_err()})
                              : std::nullopt;
  }

  std::vector<std::optional<Agreement>> results_;
  std::unique_ptr<Device> cpu_ = std::move(*open_cpu_device());
};

}  // namespace kq::judge
