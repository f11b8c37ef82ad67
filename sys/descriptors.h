// The descriptors of this process: the three standard ones, and how many others there may be. The limit of open files
// is divided between connections and the files of the store, so that neither takes all descriptors from the other.
#pragma once

#include <cstddef>

namespace kq::sys {

// The number of descriptors that are kept for the store, which keeps its files open, for the log and for the process
// itself.
inline constexpr std::size_t kDescriptorsKept = 2'048;

// Opens those of the descriptors 0, 1 and 2 that are closed. Otherwise the next socket or file would get such a number,
// and messages would go into it. Standard input is then empty, each write to standard output fails with EBADF, and what
// is written to standard error is lost. It is the first call of a program.
void open_standard_descriptors();

// Raises this process's soft limit of open files as far as needed and allowed. Returns how many of `wanted` connections
// fit beside kDescriptorsKept. Where the limit is low, connections get at least half of it.
std::size_t connections_possible(std::size_t wanted);

}  // namespace kq::sys
