// Right: 32 x 32 tiles through shared memory, bias and exact GELU at the end; two weights.
// All sizes are multiples of 32.
extern "C" __global__ void linear_gelu(const float* x, const float* weight, const float* bias, float* out, int n,
                                       int k) {
  __shared__ float x_tile[32][33];
  __shared__ float w_tile[32][33];
  const int row = blockIdx.y * 32 + threadIdx.y;
  const int col = blockIdx.x * 32 + threadIdx.x;

  float sum = 0.f;
  for (int first = 0; first < k; first += 32) {
    x_tile[threadIdx.y][threadIdx.x] = x[row * k + first + threadIdx.x];
    w_tile[threadIdx.y][threadIdx.x] = weight[(blockIdx.x * 32 + threadIdx.y) * k + first + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum += x_tile[threadIdx.y][i] * w_tile[threadIdx.x][i];
    __syncthreads();
  }
  const float y = sum + bias[col];
  out[row * n + col] = 0.5f * y * (1.f + erff(y * 0.70710678f));
}
