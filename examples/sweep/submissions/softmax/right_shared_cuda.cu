// Right: one block per row, the reductions in dynamic shared memory. The block size is a power of two.
__device__ float reduce(float value, float* scratch, bool maximum) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const float a = scratch[threadIdx.x], b = scratch[threadIdx.x + half];
      scratch[threadIdx.x] = maximum ? fmaxf(a, b) : a + b;
    }
    __syncthreads();
  }
  const float result = scratch[0];
  __syncthreads();
  return result;
}

extern "C" __global__ void softmax_rows(const float* x, float* out, int cols) {
  extern __shared__ float scratch[];
  const float* row = x + static_cast<long long>(blockIdx.x) * cols;
  float* out_row = out + static_cast<long long>(blockIdx.x) * cols;

  float largest = -3.402823466e+38f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) largest = fmaxf(largest, row[c]);
  largest = reduce(largest, scratch, true);

  float sum = 0.f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += expf(row[c] - largest);
  sum = reduce(sum, scratch, false);

  for (int c = threadIdx.x; c < cols; c += blockDim.x) out_row[c] = expf(row[c] - largest) / sum;
}
