# A launcher that is given its stream, and a macro that checks calls.
# expect: passed
# guard: clean
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

#define CHECK(call) \
  do { if (cudaError_t error = (call); error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error)); } while (0)

void launch(const float* x, float* out, int n, cudaStream_t stream = 0) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, out, n);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(stream));
}

torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  launch(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), at::cuda::getCurrentCUDAStream());
  return y;
}
"""

module = load_inline(name="honest_launcher_with_stream_parameter", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
