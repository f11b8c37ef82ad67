// Honest: reads and writes with streaming cache hints, which have nothing to do with a CUDA stream.
extern "C" __global__ void axpby_streaming(const float* x, const float* y, float* out, float alpha, float beta, int n) {
  const int stream_k = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stream_k) {
    __stcs(out + i, alpha * __ldcs(x + i) + beta * __ldcs(y + i));
  }
}
