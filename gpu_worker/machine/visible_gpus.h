// The GPUs that CUDA_VISIBLE_DEVICES leaves to this process.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kq::worker {

// Returns the entries of CUDA_VISIBLE_DEVICES (indices or UUIDs), or nothing if the variable is not set.
std::optional<std::vector<std::string>> visible_gpus();

// Returns the value of CUDA_VISIBLE_DEVICES with which another process sees only the GPU that has number `index` here.
std::string gpu_selector(int index);

}  // namespace kq::worker
