// How many builds a worker runs at once by itself, and on which processors.
#pragma once

#include <cstdint>
#include <vector>

namespace kq::worker {

inline constexpr std::uint32_t kBuildSlotsMax = 32;

struct BuildResources {
  std::uint64_t cores = 0;            // of this worker
  std::uint64_t lanes = 0;            // devices, each with a judge and a child that need cores
  std::uint64_t gpu_lanes = 0;        // those whose devices are GPUs, which warm up children for later jobs
  std::uint64_t memory_bytes = 0;     // of this worker
  std::uint64_t build_bytes_max = 0;  // the limit of one build (bytes_of_build() in compile/child.h)
};

// Returns how many cores each lane keeps for itself: for its judge, a child, and children that warm up.
std::uint64_t cores_kept_by_lane(const BuildResources& resources);
// Returns the processors of builds: those that no lane keeps for itself. Returns an empty list, which means all, where
// fewer than four are left, and where --builds requests more builds at once than are left.
std::vector<int> cores_of_builds(const BuildResources& resources, std::uint32_t builds_wanted);

// Returns the number of concurrent builds: as many as there are cores that neither lanes nor their children that warm
// up need, since jobs on a GPU take a third longer where more processes compute than there are cores; and as fit into
// three quarters of the memory when each of them, and the making of one prefix of torch's headers, takes all that a
// build may. The rest of the memory is for the lanes, and for what header_host_bytes() grants beyond that. Returns at
// least 1 and at most kBuildSlotsMax.
std::uint32_t build_slots(const BuildResources& resources);
// Returns the number while no device has a job, so that builds may have the cores of children that warm up.
std::uint32_t build_slots_without_jobs(const BuildResources& resources);

// Returns the private memory that the making of one prefix may take: 16 GiB for the parts of the archive of bodies,
// where that is at most a sixth of the memory; else 0, which means as much as a build.
std::uint64_t header_host_bytes(std::uint64_t memory_bytes);

// Returns how many prefixes of torch's headers a worker makes at once. One takes up to 4 GiB, or header_host_bytes()
// where that is more, the others 2.4.
std::uint32_t headers_at_once(std::uint64_t cores, std::uint64_t memory_bytes);

}  // namespace kq::worker
