// For tests: the copy from the host to device memory, which the judge itself never makes.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <span>

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/cuda_driver.h"
#include "gpu_worker/judge/device/memory.h"

namespace kq::judge {

inline void write_to_device(const Memory& to, std::span<const std::byte> bytes) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  using Copy = cuda::Result (*)(cuda::Pointer, const void*, std::size_t);
  const auto copy = reinterpret_cast<Copy>(::dlsym(library, "cuMemcpyHtoD_v2"));
  ASSERT_NE(copy, nullptr);
  ASSERT_EQ(copy(to.address(), bytes.data(), bytes.size()), cuda::kSuccess);
}

}  // namespace kq::judge
