#include "gpu_worker/compile/build_slots.h"

#include <algorithm>
#include <utility>

#include "sys/cores.h"

namespace kq::worker {

namespace {

std::uint64_t cores_of_lanes(const BuildResources& resources) {
  constexpr std::uint64_t kCoresPerLane = 2;    // of the judge and a child
  constexpr std::uint64_t kCoresOfWarmUps = 6;  // per lane with a GPU, and of all lanes three eighths of the cores
  const std::uint64_t warm_ups = std::min(kCoresOfWarmUps * resources.gpu_lanes, resources.cores * 3 / 8);
  return kCoresPerLane * resources.lanes + warm_ups;
}

}  // namespace

std::uint64_t cores_kept_by_lane(const BuildResources& resources) {
  return resources.lanes == 0 ? 0 : cores_of_lanes(resources) / resources.lanes;
}

std::vector<int> cores_of_builds(const BuildResources& resources, std::uint32_t builds_wanted) {
  constexpr std::size_t kCoresMin = 4;  // a build has steps that run side by side
  if (resources.lanes == 0) return {};
  auto cores = sys::cores_beside_lanes(resources.lanes, cores_kept_by_lane(resources));
  return cores.size() < std::max<std::size_t>(kCoresMin, builds_wanted) ? std::vector<int>() : std::move(cores);
}

std::uint32_t build_slots(const BuildResources& resources) {
  const std::uint64_t taken = cores_of_lanes(resources);
  const std::uint64_t spare = resources.cores > taken ? resources.cores - taken : 1;
  const std::uint64_t fitting = resources.memory_bytes / 4 * 3 / std::max<std::uint64_t>(resources.build_bytes_max, 1);
  const std::uint64_t builds = fitting > 0 ? fitting - 1 : 0;  // one share is for a prefix
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::min(spare, builds), 1, kBuildSlotsMax));
}

std::uint32_t build_slots_without_jobs(const BuildResources& resources) {
  BuildResources without_warm_ups = resources;
  without_warm_ups.gpu_lanes = 0;
  return build_slots(without_warm_ups);
}

std::uint64_t header_host_bytes(std::uint64_t memory_bytes) {
  constexpr std::uint64_t kArchiveBytes = 16ull << 30;
  return memory_bytes / 6 >= kArchiveBytes ? kArchiveBytes : 0;
}

std::uint32_t headers_at_once(std::uint64_t cores, std::uint64_t memory_bytes) {
  constexpr std::uint64_t kGiB = 1ull << 30;
  if (cores >= 8 && memory_bytes >= 64 * kGiB) return 4;
  return memory_bytes >= 16 * kGiB ? 2 : 1;
}

}  // namespace kq::worker
