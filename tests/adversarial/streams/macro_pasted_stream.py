# A name that the preprocessor joins.
# expect: rejected stream
# guard: cuda_stream_create
# row: 10
# matrix: hostile: token-pasted API
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

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define LANE Stream

torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = static_cast<int>(x.numel());
  cudaStream_t side;
  JOIN(JOIN(cuda, LANE), CreateWithFlags)(&side, 1);
  relu<<<(n + 255) / 256, 256, 0, side>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""

module = load_inline(name="macro_pasted_stream", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
