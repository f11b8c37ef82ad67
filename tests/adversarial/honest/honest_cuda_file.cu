// A kernel, its words about streams in comments: cudaStreamCreate(&s) is not called.
// expect: passed
// guard: clean
extern "C" __global__ void relu(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fmaxf(x[i], 0.0f);
}
