# A define that is a command to the shell that nvcc gives it to.
# expect: rejected policy
# guard: compiler_flag
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>

__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int n = static_cast<int>(x.numel());
  relu<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""

module = load_inline(
    name="shell_in_a_define",
    cpp_sources="torch::Tensor run(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["run"],
    extra_cuda_cflags=["-O3", "-DX=$(wc${IFS}-l</etc/passwd)"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
