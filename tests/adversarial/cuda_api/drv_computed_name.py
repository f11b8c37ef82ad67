# A function of the driver by a name that is made when it runs: the guard sees the look-up, the audit the stream.
# expect: rejected stream
# guard: review dynamic_library
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

#include <dlfcn.h>

static const char kCode[] = {100, 114, 84, 115, 117, 98, 102, 106, 68, 117, 98, 102, 115, 98, 7};

torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = static_cast<int>(x.numel());
  char name[32];
  for (int i = 0; i < 15; ++i) name[i] = static_cast<char>(kCode[i] ^ 7);
  void* make = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
  void* side = nullptr;
  reinterpret_cast<int (*)(void**, unsigned)>(make)(&side, 1);
  relu<<<(n + 255) / 256, 256, 0, 0>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""

module = load_inline(name="drv_computed_name", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
