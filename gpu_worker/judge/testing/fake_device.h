// For tests: the CPU, but for what a test says of its memory and of who else had it.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "gpu_worker/judge/check/checks.h"
#include "gpu_worker/judge/device/cpu_device.h"

namespace kq::judge {

class FakeDevice : public Device {
 public:
  DeviceInfo described = (*open_cpu_device())->info();
  std::uint64_t private_bytes_max = ~0ull;                         // of one piece; there is no room for a larger one
  std::uint64_t window_bytes_max = ~0ull;                          // likewise
  std::function<std::int64_t()> occupancy_gap = [] { return 0; };  // before each call
  std::function<double()> slowness = [] { return 1.0; };           // of the memory, before each call
  std::function<void()> at_slow_memory = [] {};                    // somebody waits until it is quick
  int windows = 0;                                                 // made so far
  std::uint64_t copied_bytes = 0;
  bool can_compare = false;                               // by itself, as a GPU can
  int byte_comparisons = 0;                               // asked for: whether two places hold the same
  std::function<void()> at_comparison = [] {};            // until what was seen is told
  double floor_ns = 0;                                    // of whatever is written
  bool waits_for_launches = false;                        // whether children are waited for until they have launched
  std::atomic<int> spins_started = 0, spins_stopped = 0;  // the number of the last hold

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
  Expected<void> begin_looks(std::span<const DeviceComparison> at) override {
    byte_comparisons += static_cast<int>(std::ranges::count_if(
        at, [](const DeviceComparison& look) { return look.expected != nullptr && !look.dtype; }));
    seen_.clear();
    if (can_compare) std::ranges::transform(at, std::back_inserter(seen_), seen_by_host);
    return {};
  }
  Expected<std::vector<std::optional<Agreement>>> finish_looks() override {
    at_comparison();
    return std::move(seen_);
  }
  Expected<void> probe() override { return {}; }
  Expected<void> settle() override { return {}; }
  double write_floor_ns(std::uint64_t bytes) const override { return bytes > 0 ? floor_ns : 0; }
  std::int64_t launch_ns(std::int64_t) const override { return waits_for_launches ? 10'000'000'000 : 0; }
  Expected<void> begin_hold() override {
    ++spins_started;
    return {};
  }
  Expected<void> hold() override { return {}; }
  void release() override { spins_stopped = spins_started.load(); }
  std::int64_t occupancy_gap_ns() override { return occupancy_gap(); }
  double memory_slowness() override { return slowness(); }
  Expected<void> await_quick_memory(std::int64_t) override {
    at_slow_memory();
    return {};
  }

 private:
  static std::optional<Agreement> seen_by_host(const DeviceComparison& look) {
    const auto bytes = [&](const Memory& memory, std::uint64_t offset) {
      return std::span(reinterpret_cast<const std::byte*>(memory.address()) + offset, look.bytes);
    };
    const auto got = bytes(*look.got, look.got_offset);
    if (look.expected == nullptr) {
      for (std::uint64_t i = 0; i < look.bytes; ++i) {
        if (got[i] != byte_of(look.word, look.got_offset + i)) return std::nullopt;
      }
      return Agreement{};
    }
    Comparison comparison(look.dtype.value_or(channel::Dtype::uint8), look.tolerance);
    comparison.add(bytes(*look.expected, look.expected_offset), got);
    return comparison.equal() ? std::optional(Agreement{comparison.max_abs_err(), comparison.max_rel_err()})
                              : std::nullopt;
  }

  std::vector<std::optional<Agreement>> seen_;
  std::unique_ptr<Device> cpu_ = std::move(*open_cpu_device());
};

}  // namespace kq::judge
