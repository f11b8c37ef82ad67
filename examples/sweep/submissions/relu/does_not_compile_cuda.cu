// Does not compile: a missing semicolon and an unknown name.
extern "C" __global__ void relu_broken(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x if (i < count) out[i] = fmaxf(x[i], 0.f);
}
