// Reads much memory of the GPU quickly: through page-locked memory, piece by piece. The driver itself reads into other
// memory at 1 to 2 GB/s, a tenth of what the bus can do.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "core/base/error.h"
#include "gpu_worker/judge/device/cuda_driver.h"
#include "gpu_worker/judge/device/cuda_mapped.h"

namespace kq::judge::cuda {

class LargeReads {
 public:
  // Fewer bytes are read faster by the driver's own call, which this class then uses.
  static constexpr std::size_t kBytesMin = 64u << 10;
  static constexpr std::size_t kPieceBytes = 4u << 20;

  // `driver` must outlive this object. The context must be current.
  explicit LargeReads(const Driver& driver) : driver_(driver) {}

  // Reads memory of the GPU after everything that was queued before. While a piece is copied on, the GPU writes the
  // next one.
  Expected<void> read(std::span<std::byte> to, Pointer from);

 private:
  Expected<void> open();
  Expected<void> read_pieces(std::span<std::byte> to, Pointer from);

  const Driver& driver_;
  std::array<std::optional<MappedBytes>, 2> pieces_;  // made at the first large read
};

}  // namespace kq::judge::cuda
