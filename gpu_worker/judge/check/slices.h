// Divides work on large outputs among threads.
//
// A slice has a fixed size, however many threads there are, and the results of the slices are merged in order. So sums
// of floating-point numbers are the same on every machine.
#pragma once

#include <cstddef>
#include <functional>

namespace kq::judge {

inline constexpr std::size_t kSliceBytes = 1u << 20;  // of the larger side; a multiple of every dtype's element
inline constexpr std::size_t kSliceThreadsMax = 8;

// Calls work(i) for each i below `count`, and returns when all calls have returned. With more than one slice the calls
// come from at most kSliceThreadsMax threads, as many as the process has processors. `work` must not throw.
void for_each_slice(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace kq::judge
