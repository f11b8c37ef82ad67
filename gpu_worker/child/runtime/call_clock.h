// The child's own idea of how long a call took: a hint for the judge, which has a clock of its own.
#pragma once

#include <cstdint>
#include <string>

namespace kq::runtime {

void start_call_clock();
// Behind everything launched. False: CUDA failed.
bool stop_call_clock();
// Waits until everything launched is done. False: CUDA failed.
bool read_call_clock(std::int64_t& elapsed_ns);
// The sentence of what went wrong, or empty.
std::string use_cuda_clock();

}  // namespace kq::runtime
