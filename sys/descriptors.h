// Raises the limit of open files and divides it between connections and the files of the store, so that neither takes
// all descriptors from the other.
#pragma once

#include <cstddef>

namespace kq::sys {

// The number of descriptors that are kept for the store, which keeps its files open, for the log and for the process
// itself.
inline constexpr std::size_t kDescriptorsKept = 2'048;

// Raises this process's soft limit of open files as far as needed and allowed. Returns how many of `wanted` connections
// fit beside kDescriptorsKept. Where the limit is low, connections get at least half of it.
std::size_t connections_possible(std::size_t wanted);

}  // namespace kq::sys
