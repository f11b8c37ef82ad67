// Reads the value of --devices.
#pragma once

#include <cstddef>
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

}  // namespace kq::worker
