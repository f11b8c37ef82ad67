// Looking at device memory: on the device itself where it can tell that all is right, else from the host, a piece at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gpu_worker/judge/check/compare.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

// Where a stretch of memory begins.
struct Location {
  const Memory& memory;
  std::uint64_t offset = 0;
};

// Two host buffers through which any amount of device memory is looked at.
class MemoryChecks {
 public:
  explicit MemoryChecks(Device& device, std::size_t piece_bytes = 4u << 20)
      : device_(device), piece_bytes_(piece_bytes) {}

  // Adds a whole tensor to the comparison.
  Expected<void> compare(Comparison& comparison, Location expected, Location got, std::uint64_t bytes);
  // What numbers_of() says of them; one piece at most.
  Expected<std::vector<double>> numbers(channel::Dtype dtype, Location at, std::uint64_t bytes);
  // The first byte that differs, counted from the places.
  Expected<std::optional<std::uint64_t>> difference(Location expected, Location got, std::uint64_t bytes);
  // The first byte that is not what `word`, written from a multiple of four on, leaves there.
  Expected<std::optional<std::uint64_t>> difference(std::uint32_t word, Location got, std::uint64_t bytes);
  // Whether all of these looks, of bytes and no more than a device takes at once, find what they expect.
  Expected<bool> all_match(std::span<const DeviceComparison> comparisons);

 private:
  struct alignas(16) Word {
    std::byte bytes[16];
  };
  Expected<std::optional<Agreement>> compare_on_device(const DeviceComparison& compare_on_device);

  // Made when it is first wanted: where a device looks by itself that is never, and to touch so much takes 0.6 ms.
  std::span<std::byte> buffer(std::vector<Word>& words) const;

  Device& device_;
  std::size_t piece_bytes_;
  std::vector<Word> expected_;  // aligned for every dtype
  std::vector<Word> got_;
};

// The byte at this offset of memory filled with `word`.
constexpr std::byte byte_of(std::uint32_t word, std::uint64_t offset) {
  return static_cast<std::byte>(word >> (offset % 4 * 8));
}

}  // namespace kq::judge
