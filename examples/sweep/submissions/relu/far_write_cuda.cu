// Writes four terabytes behind its output: an illegal address.
extern "C" __global__ void relu_far(const float* x, float* out, int n) {
  const long long far = 1LL << 40;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i + far] = fmaxf(x[i], 0.f);
}
