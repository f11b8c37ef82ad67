// Rejected: the host code beside the kernel makes a non-blocking stream.
#include <cuda_runtime.h>

extern "C" __global__ void axpby_aside(const float* x, const float* y, float* out, float alpha, float beta, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = alpha * x[i] + beta * y[i];
}

void launch(const float* x, const float* y, float* out, float alpha, float beta, int n) {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  axpby_aside<<<(n + 255) / 256, 256, 0, side>>>(x, y, out, alpha, beta, n);
}
