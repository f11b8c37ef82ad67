#include "gpu_worker/cores.h"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace kq {

std::uint32_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // It fails where the machine has more than 1,024 of them.
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return std::max(1u, std::thread::hardware_concurrency());
  return static_cast<std::uint32_t>(CPU_COUNT(&set));
}

}  // namespace kq
