import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>
__global__ void twice_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.f ? factor * x[i] : 0.f;
}

torch::Tensor twice(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  twice_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
module = load_inline(
    name="twice_uncaught", cpp_sources="torch::Tensor twice(torch::Tensor x);", cuda_sources=CUDA, functions=["twice"]
)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.twice(x)
