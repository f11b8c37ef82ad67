// Never ends: every thread waits for its input to change, and nothing ever writes it.
extern "C" __global__ void relu_waiting(const volatile float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float first = x[i];
  while (x[i] == first) {
  }
  out[i] = fmaxf(first, 0.f);
}
