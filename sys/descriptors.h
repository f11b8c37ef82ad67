// A connection takes a file descriptor, and so does every file of the store: one must not leave the other without.
#pragma once

#include <cstddef>

namespace kq::sys {

// For the store, which keeps its files open, the log and the process itself.
inline constexpr std::size_t kDescriptorsKept = 2'048;

// Raises this process's limit of open files as far as needed and allowed; how many of `wanted` connections then fit
// beside kDescriptorsKept, or into half of the limit where it is that low.
std::size_t connections_possible(std::size_t wanted);

}  // namespace kq::sys
