// The judge's own device code, as PTX: building and running it needs no CUDA toolkit, and the driver compiles it for
// any GPU from sm_70 on.
//
//   probe    one thread writes a number: when it has run, all work that was queued on the GPU before has run
//   stamp    one thread writes the GPU's clock; all writes before it are visible to a host that sees the stamp
//   spin     one thread occupies the GPU until the host stops it, and measures the longest time in which it did not run
//   differ   whether two memories differ
//   word     whether a memory differs from a repeated word
//   publish  moves words of 8 bytes to mapped host memory, zeroes them, and then writes a flag there
//   agree    whether floating-point numbers agree within a tolerance, and the worst errors (check/compare.h has the
//   rules)
//   measure  how many numbers are not within a tolerance, which ones, and the worst errors (cuda_measure.h)
//   truth    how far numbers are from the truth (cuda_measure.h)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "gpu_worker/channel/channel.h"
#include "gpu_worker/judge/device/cuda_driver.h"

namespace kq::judge::cuda {

// How a spin kernel and the host communicate, in mapped host memory.
struct SpinWords {
  std::uint32_t stop;      // written by the host: the number of the spin that must end
  std::uint32_t running;   // written by the GPU: the number of the spin that has begun
  std::uint64_t began_ns;  // by the GPU's clock
  std::uint64_t gap_ns;    // the longest time between two reads of `stop`
  std::uint64_t ended_ns;
};

// The result of agree, in device memory. The words must be zero before.
struct AgreeWords {
  std::uint64_t wrong;        // 1 where an element, or a part of a complex one, is beyond the tolerance
  std::uint64_t max_abs_err;  // bits of a double
  std::uint64_t max_rel_err;
};

inline constexpr std::uint64_t kPublishMax = 256;  // words in one launch: one for each thread of a block

// The numbers that agree can read. A complex number is two of them.
struct FloatFormat {
  const char* kernel;
  std::uint64_t part_bytes;
};
// Returns nothing for a dtype whose elements are compared by their bytes.
std::optional<FloatFormat> float_format(channel::Dtype dtype);

// The loaded kernels. Each function queues one kernel on the default stream, or a few, and returns at once.
class Kernels {
 public:
  Kernels() = default;
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  // Loads the module into the current context. `driver` must outlive this object.
  Expected<void> load(const Driver& driver);

  Expected<void> probe(Pointer word, std::uint32_t number) const;
  Expected<void> stamp(Pointer at) const;
  // The spin ends when the host stops it, or after `limit_ns`.
  Expected<void> spin(Pointer words, std::uint32_t number, std::uint64_t limit_ns) const;
  // Writes 1 to the word at `found` where the memories differ.
  Expected<void> differ(Pointer a, Pointer b, std::uint64_t bytes, Pointer found) const;
  // Writes 1 to the word at `found` where a byte differs from `word`, repeated from multiples of four on.
  Expected<void> word(Pointer at, std::uint32_t word, std::uint64_t bytes, Pointer found) const;
  // Moves at most kPublishMax words, then writes `number` at `flag`.
  Expected<void> publish(Pointer to, Pointer from, std::uint64_t words, Pointer flag, std::uint32_t number) const;
  Expected<void> agree(const FloatFormat& format, Pointer expected, Pointer got, std::uint64_t parts, double rtol,
                       double atol, Pointer words) const;
  // Write kMeasureThreads records, of an ErrorRecord or of a TruthRecord each, at `records`. The truth is float64 or
  // float32.
  Expected<void> measure(const FloatFormat& format, Pointer expected, Pointer got, std::uint64_t numbers, double rtol,
                         double atol, Pointer records) const;
  Expected<void> truth(const FloatFormat& truth_format, Pointer truth, const FloatFormat& format, Pointer expected,
                       Pointer got, std::uint64_t numbers, double rtol, double atol, Pointer records) const;

 private:
  Expected<void> launch(const char* kernel, std::uint64_t threads, void** parameters) const;

  const Driver* driver_ = nullptr;
  Module module_ = nullptr;
  std::map<std::string, Function, std::less<>> functions_;
};

// Returns the text of the module.
std::string ptx();

}  // namespace kq::judge::cuda
