// Host memory as a device: windows are sealed memfds.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

Expected<std::unique_ptr<Device>> open_cpu_device();

// "model name" of the first processor in the text of /proc/cpuinfo; "CPU" where there is none.
std::string cpu_model(std::string_view cpuinfo);

// MemAvailable in the text of /proc/meminfo; 0 where it is not said.
std::uint64_t available_bytes(std::string_view meminfo);

}  // namespace kq::judge
