// Host code beside the kernel makes a stream.
// expect: rejected stream
// guard: cuda_stream_create
#include <cuda_runtime.h>

void prepare() {
  cudaStream_t side;
  cudaStreamCreateWithPriority(&side, cudaStreamNonBlocking, -1);
}

extern "C" __global__ void relu(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fmaxf(x[i], 0.0f);
}
