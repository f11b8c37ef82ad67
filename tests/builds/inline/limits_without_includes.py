import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
__global__ void twice_kernel(const float* x, float* y, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > -FLT_MAX && n < UINT32_MAX ? 2 * x[i] : 0;
}
torch::Tensor twice(torch::Tensor x) {
  auto y = torch::empty_like(x);
  twice_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
"""
module = load_inline(
    name="limits_without_includes",
    cpp_sources="torch::Tensor twice(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["twice"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return module.twice(x)
