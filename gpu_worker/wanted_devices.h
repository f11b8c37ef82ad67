// What --devices asks for.
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

// GPUs of this machine that CUDA_VISIBLE_DEVICES leaves.
std::size_t count_gpus();

// "auto" is every one of so many GPUs, or the CPU where there is none; otherwise a list of cpu, cuda (every GPU) and
// cuda:N, each device once: a device has one lane, whose trials it is quiet for.
Expected<std::vector<DeviceId>> wanted_devices(const std::string& text, std::size_t gpus);

}  // namespace kq::worker
