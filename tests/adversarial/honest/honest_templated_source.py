# A C++ source with holes for numbers and types.
# expect: passed
# guard: clean
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <torch/extension.h>

template <typename T>
__global__ void relu(const T* x, T* y, int n) {{
  const int i = blockIdx.x * {block} + threadIdx.x;
  if (i < n) y[i] = x[i] > T(0) ? x[i] : T(0);
}}

torch::Tensor run(torch::Tensor x) {{
  auto y = torch::empty_like(x);
  relu<{type}><<<(x.numel() + {block} - 1) / {block}, {block}>>>(x.data_ptr<{type}>(), y.data_ptr<{type}>(), x.numel());
  return y;
}}
"""


def module_for(block, type_name):
    source = SOURCE.format(block=block, type=type_name)
    return load_inline(name=f"relu_{block}", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.module = module_for(256, "float")

    def forward(self, x):
        return self.module.run(x)
