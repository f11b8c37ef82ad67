// The child's own measurement of how long a call took. It is a hint: the judge measures the call with its own clock.
// A process has one such clock. It is the host's monotonic clock until use_cuda_clock() switches it to CUDA events.
#pragma once

#include <cstdint>
#include <string>

namespace kq::runtime {

// Starts the clock, before the call launches anything.
void start_call_clock();
// Records the end of the call, behind everything that it launched. Returns false if CUDA failed.
bool stop_call_clock();
// Waits until everything launched is done, and sets the time between start and stop in nanoseconds, which is 0 if the
// events cannot be read. Returns false if CUDA failed.
bool read_call_clock(std::int64_t& elapsed_ns);
// Switches the clock to events on the default stream of the current CUDA context. Returns an empty string, or a
// sentence that says what failed; then the clock stays the host's.
std::string use_cuda_clock();

}  // namespace kq::runtime
