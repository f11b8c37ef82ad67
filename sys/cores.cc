#include "sys/cores.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <thread>
#include <tuple>

namespace kq::sys {
namespace {

// The judge and the child that it measures need one processor each.
constexpr std::size_t kCoresPerLaneMin = 2;
constexpr const char* kTopology = "/sys/devices/system/cpu";

std::vector<int> usable() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> found;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return found;  // more than CPU_SETSIZE processors
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) found.push_back(core);
  }
  return found;
}

int number_in(const std::string& path) {
  std::ifstream file(path);
  int number = 0;
  file >> number;
  return number;
}

// Sorts the hardware threads of one core next to each other.
void sort_by_core(std::vector<int>& cores, const std::string& topology) {
  std::ranges::sort(cores, {}, [&](int core) {
    const std::string of_core = topology + "/cpu" + std::to_string(core) + "/topology/";
    return std::tuple(number_in(of_core + "physical_package_id"), number_in(of_core + "core_id"), core);
  });
}

}  // namespace

std::uint32_t usable_cores() {
  const auto cores = usable();
  return cores.empty() ? std::max(1u, std::thread::hardware_concurrency()) : static_cast<std::uint32_t>(cores.size());
}

std::vector<int> cores_of_lane(std::size_t lane, std::size_t lanes) {
  return share_of(usable(), lane, lanes, kTopology);
}

std::vector<int> share_of(std::vector<int> cores, std::size_t lane, std::size_t lanes, const std::string& topology) {
  if (lanes < 2 || lane >= lanes || cores.size() < kCoresPerLaneMin * lanes) return {};
  sort_by_core(cores, topology);
  const std::size_t share = cores.size() / lanes;
  const auto begin = cores.begin() + static_cast<std::ptrdiff_t>(lane * share);
  return {begin, begin + static_cast<std::ptrdiff_t>(share)};
}

std::vector<int> cores_beside_lanes(std::size_t lanes, std::size_t kept) {
  return rest_of(usable(), lanes, kept, kTopology);
}

std::vector<int> rest_of(std::vector<int> cores, std::size_t lanes, std::size_t kept, const std::string& topology) {
  if (lanes == 0) return cores;
  sort_by_core(cores, topology);
  const std::size_t share = cores.size() / lanes;
  if (share == 0 || share < kept) return {};
  std::vector<int> rest;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    if (i >= share * lanes || i % share >= kept) rest.push_back(cores[i]);
  }
  return rest;
}

void pin_to_cores(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  }
  (void)::sched_setaffinity(0, sizeof set, &set);
}

std::string core_list(const std::vector<int>& cores) {
  std::string text;
  for (const int core : cores) text += (text.empty() ? "" : ",") + std::to_string(core);
  return text;
}

std::vector<int> parse_core_list(std::string_view text) {
  std::vector<int> cores;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int core = 0;
    const auto [next, error] = std::from_chars(at, end, core);
    if (error != std::errc() || core < 0 || (next != end && (*next != ',' || next + 1 == end))) return {};
    cores.push_back(core);
    at = next == end ? end : next + 1;
  }
  return cores;
}

}  // namespace kq::sys
