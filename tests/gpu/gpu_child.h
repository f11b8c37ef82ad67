// A child on a GPU in C++, without Python. The tests of the judge's interval, windows and recovery use it.
//
// CUDA does not survive a fork, so the test program starts itself again with --as-child and the channel socket at
// descriptor 3.
#pragma once

#include <cstdint>

namespace kq::judge {

// What `call` does. The high half of its seed holds this value, and the low half holds the time in nanoseconds for
// which its kernel spins.
enum class GpuAct : std::uint32_t {
  spin = 0,        // synchronises, then reports done
  spin_early = 1,  // reports done right after the launch
  copy = 2,        // copies the first input to the first output
  fault = 3,       // writes to an address that is not mapped
  late = 5,        // reports done, waits for that time on the CPU, then writes the first word of the first output
  leave = 4,       // reports done, then launches a kernel that runs between this call and the next
  slowly = 6,      // like spin, but launches kSlowlyNs later
};
inline constexpr std::uint32_t kSlowlyNs = 800'000;
inline constexpr std::uint64_t act_seed(GpuAct act, std::uint32_t spin_ns) {
  return static_cast<std::uint64_t>(act) << 32 | spin_ns;
}

// Serves the channel at descriptor 3 until it closes. Returns the exit code.
int run_gpu_child();

}  // namespace kq::judge
