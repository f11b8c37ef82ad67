import os

import torch.nn as nn
from torch.utils.cpp_extension import load_inline

os.environ["TORCH_CUDA_ARCH_LIST"] = "9.0"
CUDA = """
#include <cuda_runtime.h>
#include <torch/extension.h>
__global__ void twice_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0.f ? 2.f * x[i] : 0.f;
}

torch::Tensor twice(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  twice_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
"""
modules = []
for i, flags in enumerate(
    (
        ["-O3", "--use_fast_math", "-Xptxas", "-v,-O3", "--ptxas-options=-v", "-lineinfo"],
        ["-O3 -std=c++17 -Xcompiler '-O3 -fno-strict-aliasing'"],
        ["-arch=sm_70"],
        ["--no-such-flag"],
    )
):
    try:
        modules.append(
            load_inline(
                name=f"twice_flags_{i}",
                cpp_sources=["torch::Tensor twice(torch::Tensor x);"],
                cuda_sources=[CUDA],
                functions={"twice": "twice what is above zero"},
                extra_cuda_cflags=flags,
                extra_cflags=["-O3"],
                extra_ldflags=["-lcublas"],
                verbose=True,
            )
        )
    except Exception:
        modules.append(None)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        assert [module is not None for module in modules] == [True, True, False, False], modules

    def forward(self, x):
        return modules[0].twice(x)
