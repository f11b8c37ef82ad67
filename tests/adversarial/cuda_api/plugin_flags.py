# A flag that loads code into the compiler.
# expect: rejected policy
# guard: compiler_flag
# row: 92
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

torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = static_cast<int>(x.numel());
  relu<<<(n + 255) / 256, 256, 0, 0>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""

module = load_inline(name="plugin_flags", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"], extra_cflags=["-fplugin=./plugin.so"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
