// What the judge has looked at on the GPU, several stretches of memory at once: kernels are queued one behind the
// other, the last of them brings what they found into mapped host memory. Nobody asks the driver whether they are done,
// which would take longer than they do.
//
//   begin | add, add, ... | send          the caller does something else          finish
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpu_worker/judge/device/cuda_driver.h"
#include "gpu_worker/judge/device/cuda_kernels.h"
#include "gpu_worker/judge/device/cuda_mapped.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge::cuda {

class Looks {
 public:
  // Both outlive this; the context is the current one.
  Looks(const Driver& driver, const Kernels& kernels) : driver_(driver), kernels_(kernels), shared_(driver) {}
  ~Looks();
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;

  Expected<void> open();

  // kLooksMax of them at most.
  void begin();
  Expected<void> add_bytes(Pointer expected, Pointer got, std::uint64_t bytes) {
    return kernels_.differ(expected, got, bytes, next());
  }
  Expected<void> add_word(Pointer got, std::uint32_t word, std::uint64_t bytes) {
    return kernels_.word(got, word, bytes, next());
  }
  Expected<void> add_numbers(const FloatFormat& format, Pointer expected, Pointer got, std::uint64_t bytes,
                             Tolerance tolerance) {
    return kernels_.agree(format, expected, got, bytes / format.part_bytes, tolerance.rtol, tolerance.atol, next());
  }
  Expected<void> send();
  // Of each in order, nothing where something differs.
  Expected<std::vector<std::optional<Agreement>>> finish();

 private:
  // In mapped host memory.
  struct Shared {
    std::uint32_t number;  // of the looks that were told last
    AgreeWords words[kDeviceComparisonsMax];
  };
  Pointer next();

  const Driver& driver_;
  const Kernels& kernels_;
  Pointer words_ = 0;  // AgreeWords on the GPU, zero between looks
  Mapped<Shared> shared_;
  std::size_t count_ = 0;
  bool is_asked_ = false;  // and not told yet
  std::uint32_t number_ = 0;
};

}  // namespace kq::judge::cuda
