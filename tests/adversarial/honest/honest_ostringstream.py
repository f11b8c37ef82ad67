# A text stream that is called stream.
# expect: passed
# guard: clean
# row: H8
# matrix: honest: std::ostringstream variable
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

#include <sstream>

torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = static_cast<int>(x.numel());
  std::ostringstream stream;
  stream << "elements: " << n;
  TORCH_CHECK(n > 0, stream.str());
  relu<<<(n + 255) / 256, 256, 0, 0>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""

module = load_inline(name="honest_ostringstream", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
