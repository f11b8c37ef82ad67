// The processors that this process may use, and their division among the lanes of a worker.
//
// A CPU affinity (taskset, Slurm, a container's cpuset) may leave fewer processors than the machine has;
// std::thread::hardware_concurrency() does not see that everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kq::sys {

// Returns the number of processors that the affinity allows, at least 1.
std::uint32_t usable_cores();

// Returns the usable processors of lane number `lane` of `lanes`. Each lane gets equally many, and the hardware threads
// of one core go to the same lane where the numbers allow it. Returns an empty list, which means all processors, for a
// single lane and where a lane would get fewer than two.
std::vector<int> cores_of_lane(std::size_t lane, std::size_t lanes);
// Divides any list of processors in the same way. `topology` is a directory like /sys/devices/system/cpu.
std::vector<int> share_of(std::vector<int> cores, std::size_t lane, std::size_t lanes, const std::string& topology);
// Returns the usable processors that are left when each of `lanes` lanes keeps `kept` of its own; a single lane has
// all. Returns an empty list where none is left, or a lane has fewer than `kept`.
std::vector<int> cores_beside_lanes(std::size_t lanes, std::size_t kept);
// Divides any list of processors in the same way.
std::vector<int> rest_of(std::vector<int> cores, std::size_t lanes, std::size_t kept, const std::string& topology);
// Restricts this thread, and threads and processes that it starts later, to these processors. Does nothing for an empty
// list or where the kernel refuses.
void pin_to_cores(const std::vector<int>& cores);

// Writes a list as "0,1,8", and reads it. Reading returns an empty list if the text has another form.
std::string core_list(const std::vector<int>& cores);
std::vector<int> parse_core_list(std::string_view text);

}  // namespace kq::sys
