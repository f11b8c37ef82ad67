// Checks of device memory. The device itself compares where it can, and measures floating-point numbers that are wrong.
// Only where it finds another difference, or can do neither, the memory is read to the host and compared there, one
// piece at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gpu_worker/judge/check/compare.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

// An offset in a memory.
struct Location {
  const Memory& memory;
  std::uint64_t offset = 0;
};

// Compares any amount of device memory by means of two host buffers, each of at most kComparedPieces * piece_bytes.
class MemoryChecks {
 public:
  // Numbers are compared in so many pieces at once, because several threads compare them.
  static constexpr std::uint64_t kComparedPieces = 16;

  explicit MemoryChecks(Device& device, std::size_t piece_bytes = 4u << 20)
      : device_(device), piece_bytes_(piece_bytes) {}

  // Adds a whole tensor to the comparison.
  Expected<void> compare(Comparison& comparison, Location expected, Location got, std::uint64_t bytes);
  // Reads elements, at most one piece of them, and returns what numbers_of() returns.
  Expected<std::vector<double>> numbers(channel::Dtype dtype, Location at, std::uint64_t bytes);
  // Returns the offset, relative to the two locations, of the first byte that differs.
  Expected<std::optional<std::uint64_t>> difference(Location expected, Location got, std::uint64_t bytes);
  // Returns the offset of the first byte that differs from memory filled with `word`. The word is aligned to multiples
  // of four in the memory.
  Expected<std::optional<std::uint64_t>> difference(std::uint32_t word, Location got, std::uint64_t bytes);
  // Returns whether all comparisons, which are of bytes and at most kDeviceComparisonsMax, find no difference.
  Expected<bool> all_match(std::span<const DeviceComparison> comparisons);

 private:
  struct alignas(16) Word {
    std::byte bytes[16];
  };
  Expected<std::optional<Agreement>> compare_on_device(const DeviceComparison& comparison);
  // Has the device measure a whole tensor. Returns false where the device does not measure it.
  Expected<bool> measure_on_device(Comparison& comparison, const DeviceComparison& tensor);
  Expected<NumberPair> pair_at(const DeviceComparison& tensor, std::uint64_t element);

  // Returns the first `bytes` of the words. Allocates as many as are asked for, because touching memory takes 0.15 ms
  // for each MiB and a device that compares by itself never needs the words.
  static std::span<std::byte> buffer(std::vector<Word>& words, std::uint64_t bytes);

  Device& device_;
  std::size_t piece_bytes_;
  std::vector<Word> expected_;  // aligned for every dtype
  std::vector<Word> got_;
};

// Returns the byte at this offset of memory filled with `word`.
constexpr std::byte byte_of(std::uint32_t word, std::uint64_t offset) {
  return static_cast<std::byte>(word >> (offset % 4 * 8));
}

}  // namespace kq::judge
