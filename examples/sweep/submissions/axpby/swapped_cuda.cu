// Wrong values: alpha and beta change places.
extern "C" __global__ void axpby_swapped(const float* x, const float* y, float* out, float alpha, float beta, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = beta * x[i] + alpha * y[i];
}
