// A macro that passes on whatever it is given.
// expect: rejected stream
// guard: cuda_stream_create
#define CALL(f, ...) f(__VA_ARGS__)
#define PASTE(a, b) a##b

void prepare(void** side) { CALL(PASTE(cuStream, Create), side, 1); }

extern "C" __global__ void relu(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fmaxf(x[i], 0.0f);
}
