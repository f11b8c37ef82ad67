// Reads the values of --devices and --gpus-per-lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/device.h"

namespace kq::worker {

struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

// Returns the number of GPUs of this machine that CUDA_VISIBLE_DEVICES leaves.
std::size_t count_gpus();

// Returns the devices that `text` names on a machine with `gpus` GPUs. "auto" is every GPU, or the CPU if there is
// none. Otherwise the text is a list of cpu, cuda (every GPU) and cuda:N. Fails if a device is there twice, because
// trials need a device without other work.
Expected<std::vector<DeviceId>> wanted_devices(const std::string& text, std::size_t gpus);

// The devices of one lane: of a GPU lane the numbers of its GPUs; a CPU lane has numbers from 0 that only count.
struct LaneDevices {
  DeviceKind kind = DeviceKind::cpu;
  std::vector<int> indices;

  friend bool operator==(const LaneDevices&, const LaneDevices&) = default;
};

// Makes lanes of `per_lane` devices each: neighbours of the list share a lane, and the CPU has a lane of its own. Fails
// if some GPUs are left over.
Expected<std::vector<LaneDevices>> lanes_of_devices(const std::vector<DeviceId>& devices, std::uint32_t per_lane);

}  // namespace kq::worker
