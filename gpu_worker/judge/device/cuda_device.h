// A GPU as a Device, in the judge's own CUDA context. Windows are virtual-memory allocations, exported as POSIX
// descriptors.
#pragma once

#include <memory>

#include "gpu_worker/judge/device/cuda_driver.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

// Fail with ErrorKind::not_found where the machine has no CUDA driver or no GPU with this index.
Expected<std::unique_ptr<Device>> open_cuda_device(int index);
Expected<std::unique_ptr<Device>> open_cuda_device(const cuda::Driver& driver, int index);

}  // namespace kq::judge
