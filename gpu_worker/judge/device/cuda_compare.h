// Comparisons of memory on the GPU, several at once. Kernels are queued one behind another, and the last one publishes
// the results in mapped host memory. The host polls that memory: asking the driver would take longer than the kernels.
//
//   begin() | add_...(), add_...(), ... | send()      the caller does something else      receive()
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

// Makes comparisons on the GPU in rounds, one round after another. A round is begin(), calls of add_...(), send() and
// receive().
class Comparisons {
 public:
  // Both must outlive this object. The context must be current.
  Comparisons(const Driver& driver, const Kernels& kernels) : driver_(driver), kernels_(kernels), shared_(driver) {}
  ~Comparisons();
  Comparisons(const Comparisons&) = delete;
  Comparisons& operator=(const Comparisons&) = delete;

  Expected<void> open();

  // Begins a round of at most kDeviceComparisonsMax comparisons.
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
  // Waits for the round. Returns one element for each comparison in order, which is empty if
  // the comparison found a difference.
  Expected<std::vector<std::optional<Agreement>>> receive();

 private:
  // In mapped host memory.
  struct Shared {
    std::uint32_t number;  // of the round that was published last
    AgreeWords words[kDeviceComparisonsMax];
  };
  Pointer next();

  const Driver& driver_;
  const Kernels& kernels_;
  Pointer words_ = 0;  // AgreeWords on the GPU, zero between rounds
  Mapped<Shared> shared_;
  std::size_t count_ = 0;
  bool is_sent_ = false;  // and not received yet
  std::uint32_t number_ = 0;
};

}  // namespace kq::judge::cuda
