// The processors that this process may use: those that an affinity leaves (taskset, Slurm, a container's cpuset), which
// the C++ library does not ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kq::sys {

std::uint32_t usable_cores();  // at least 1

// Of these one lane's of several: as many for each, and the threads of a core to the same where that can be had. Empty,
// which is all of them, for a lane alone, or where there are fewer than two for each.
std::vector<int> cores_of_lane(std::size_t lane, std::size_t lanes);
// The same of any. `topology` is the kernel's account of them.
std::vector<int> share_of(std::vector<int> cores, std::size_t lane, std::size_t lanes, const std::string& topology);
// This thread, and whatever it starts from now on, keep to these; to all that there are where none is said.
void pin_to_cores(const std::vector<int>& cores);

// "0,1,8", and back; nothing where it is no such list.
std::string core_list(const std::vector<int>& cores);
std::vector<int> parse_core_list(std::string_view text);

}  // namespace kq::sys
