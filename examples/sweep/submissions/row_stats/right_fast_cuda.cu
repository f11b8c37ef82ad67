// Right and fast: one block per row, which waits in dynamic shared memory for the second pass.
// Three outputs of two types.
__device__ float block_sum(float value) {
  __shared__ float warps[32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.f;
  for (int w = 0; w < blockDim.x / 32; ++w) sum += warps[w];
  __syncthreads();
  return sum;
}

extern "C" __global__ void row_stats(const float* x, float* mean_out, float* variance_out, long long* positives_out,
                                     int cols) {
  extern __shared__ float row[];
  const float* mine = x + static_cast<long long>(blockIdx.x) * cols;

  float sum = 0.f;
  float positives = 0.f;  // Whole numbers below 2^24 are exact.
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    row[c] = mine[c];
    sum += row[c];
    positives += row[c] > 0.f ? 1.f : 0.f;
  }
  const float mean = block_sum(sum) / cols;
  positives = block_sum(positives);

  float squares = 0.f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) squares += (row[c] - mean) * (row[c] - mean);
  const float variance = block_sum(squares) / cols;

  if (threadIdx.x == 0) {
    mean_out[blockIdx.x] = mean;
    variance_out[blockIdx.x] = variance;
    positives_out[blockIdx.x] = static_cast<long long>(positives);
  }
}
