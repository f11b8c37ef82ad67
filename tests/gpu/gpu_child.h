// A child on a GPU, in C++ and without Python: what the judge's clock, windows and recovery are tested against.
//
// CUDA does not survive a fork, so the test program starts itself again with --as-child and the channel socket at
// descriptor 3.
#pragma once

#include <cstdint>

namespace kq::judge {

// What `call` does, in the high half of its seed; the low half is how many nanoseconds its kernel spins.
enum class GpuAct : std::uint32_t {
  spin = 0,        // synchronises, then says done
  spin_early = 1,  // says done right after the launch
  copy = 2,        // brings the first input into the first output
  fault = 3,       // writes to an address that is nobody's
  late = 5,    // says done, waits on the CPU for so many nanoseconds, then writes the first word of the first output
  leave = 4,   // says done, then launches: its kernel runs between this call and the next
  slowly = 6,  // as spin, kSlowlyNs later
};
inline constexpr std::uint32_t kSlowlyNs = 800'000;
inline constexpr std::uint64_t act_seed(GpuAct act, std::uint32_t spin_ns) {
  return static_cast<std::uint64_t>(act) << 32 | spin_ns;
}

// Serves the channel at descriptor 3 until it closes. Returns the exit code.
int run_gpu_child();

}  // namespace kq::judge
