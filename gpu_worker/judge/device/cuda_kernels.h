// The judge's own device code, as PTX: no toolkit is needed to build or run it, and the driver fits it to any GPU from
// sm_70 on.
//
//   probe   one thread writes a number: when it has run, whatever was queued on the GPU before it has run
//   stamp   one thread writes the GPU's clock; who sees that sees what was written before it
//   hold    one thread keeps the GPU until the host releases it, and notes the longest time in which it was not running
//   differ  whether two stretches of memory differ
//   word    whether a stretch of memory is not a word over and over
//   tell    moves words of 8 bytes to mapped host memory, leaves zeros, and says so there
//   agree   whether floating-point numbers agree within a tolerance, and the worst errors (compare.h has the rules)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "gpu_worker/channel/channel.h"
#include "gpu_worker/judge/device/cuda_driver.h"

namespace kq::judge::cuda {

// What a hold and the host tell each other, in mapped host memory.
struct HoldWords {
  std::uint32_t released;  // host: the number of the hold that shall end
  std::uint32_t running;   // GPU: the number of the hold that has begun
  std::uint64_t began_ns;  // GPU's clock
  std::uint64_t gap_ns;    // the longest time between two looks at `released`
  std::uint64_t ended_ns;
};

// What agree leaves behind, in device memory; zeroed before.
struct AgreeWords {
  std::uint64_t wrong;        // elements, or parts of complex ones, beyond the tolerance
  std::uint64_t max_abs_err;  // bits of a double
  std::uint64_t max_rel_err;
};

inline constexpr std::uint64_t kToldMax = 256;  // words at once: one for each thread of a block

// The numbers agree can read: none for what is compared by its bytes. Complex ones are two parts each.
struct FloatFormat {
  const char* kernel;
  std::uint64_t part_bytes;
};
std::optional<FloatFormat> float_format(channel::Dtype dtype);

class Kernels {
 public:
  Kernels() = default;
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  // In the current context. `driver` outlives this.
  Expected<void> load(const Driver& driver);

  // All are queued on the default stream and return at once.
  Expected<void> probe(Pointer word, std::uint32_t number) const;
  Expected<void> stamp(Pointer at) const;
  // Ends by itself after `limit_ns`.
  Expected<void> hold(Pointer words, std::uint32_t number, std::uint64_t limit_ns) const;
  // Sets the word at `found` where they differ.
  Expected<void> differ(Pointer a, Pointer b, std::uint64_t bytes, Pointer found) const;
  // Likewise, where a stretch does not hold `word` from multiples of four on.
  Expected<void> word(Pointer at, std::uint32_t word, std::uint64_t bytes, Pointer found) const;
  // kToldMax words at most; then `number` is at `told`.
  Expected<void> tell(Pointer to, Pointer from, std::uint64_t words, Pointer told, std::uint32_t number) const;
  Expected<void> agree(const FloatFormat& format, Pointer expected, Pointer got, std::uint64_t parts, double rtol,
                       double atol, Pointer words) const;

 private:
  Expected<void> launch(const char* kernel, std::uint64_t threads, void** parameters) const;

  const Driver* driver_ = nullptr;
  Module module_ = nullptr;
  std::map<std::string, Function, std::less<>> functions_;
};

// The module's text.
std::string ptx();

}  // namespace kq::judge::cuda
