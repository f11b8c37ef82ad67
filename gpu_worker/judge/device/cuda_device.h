// A GPU as a device: windows are virtual-memory allocations exported as POSIX descriptors, in the judge's own context.
#pragma once

#include <memory>

#include "gpu_worker/judge/device/cuda_driver.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

// ExitCode::nothing: there is no such GPU here, or no driver.
Expected<std::unique_ptr<Device>> open_cuda_device(int index);
Expected<std::unique_ptr<Device>> open_cuda_device(const cuda::Driver& driver, int index);

}  // namespace kq::judge
