import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>
__constant__ float two = 2.f;
template <typename T> __device__ __forceinline__ T above(T v) { return v > T(0) ? v : T(0); }
template <typename T, int K = 4> __global__ void twice_kernel(const T* __restrict__ x, T* __restrict__ y, const int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = above<T>(x[i]) * static_cast<T>(two);
}
template <typename T> void launch(const torch::Tensor& x, torch::Tensor& y) {
  const int n = x.numel(), block = 256;
  int grid = (n + block - 1) / block;
  grid = min(grid, 65535);
  grid = max(grid, 1);
  twice_kernel<T><<<grid, block>>>(x.data_ptr<T>(), y.data_ptr<T>(), n);
}
torch::Tensor twice(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda(), "x must be on a GPU");
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "twice", ([&] { launch<scalar_t>(x, y); }));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
"""
module = load_inline(
    name="twice_dispatch",
    cpp_sources="torch::Tensor twice(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["twice"],
    extra_cuda_cflags=["-O3", "--use_fast_math"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.twice(x)
