// Right and fast: one warp per row keeps a running maximum and sum, so every logit is read once.
// A float and an integer input.
extern "C" __global__ void loss_rows(const float* logits, const long long* targets, float* out, int rows, int cols) {
  const int lane = threadIdx.x % 32;
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  const float* mine = logits + static_cast<long long>(row) * cols;

  float largest = -3.402823466e+38f;
  float sum = 0.f;
  for (int c = lane; c < cols; c += 32) {
    const float value = mine[c];
    const float next = fmaxf(largest, value);
    sum = sum * expf(largest - next) + expf(value - next);
    largest = next;
  }
  for (int step = 16; step > 0; step /= 2) {
    const float other_largest = __shfl_xor_sync(0xffffffffu, largest, step);
    const float other_sum = __shfl_xor_sync(0xffffffffu, sum, step);
    const float next = fmaxf(largest, other_largest);
    sum = sum * expf(largest - next) + other_sum * expf(other_largest - next);
    largest = next;
  }
  if (lane == 0) out[row] = logf(sum) + largest - mine[targets[row]];
}
