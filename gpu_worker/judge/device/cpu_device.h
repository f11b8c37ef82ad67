// The host's memory as a Device. Windows are memfds, sealed against resizing.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

Expected<std::unique_ptr<Device>> open_cpu_device();

// Returns the "model name" of the first processor in the text of /proc/cpuinfo, or "CPU" where the text has none.
std::string cpu_model(std::string_view cpuinfo);

// Returns MemAvailable in the text of /proc/meminfo, or 0 where the text does not have it.
std::uint64_t available_bytes(std::string_view meminfo);

}  // namespace kq::judge
