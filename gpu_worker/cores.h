// The processors that this process may use: those that an affinity leaves (taskset, Slurm, a container's cpuset), which the C++ library does not ask for.
#pragma once

#include <cstdint>

namespace kq {

std::uint32_t usable_cores();  // at least 1

}  // namespace kq
