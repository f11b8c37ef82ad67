// Macros that an inclusion of the file itself turns into a name.
// expect: rejected stream
// guard: cuda_stream_create
#define A cuda
#define B(x) x##Stream
#define C(x) x##Create
#define D(x) C(x)
#define E(x) B(x)

void prepare(void** side) { D(E(cuda))(side); }

extern "C" __global__ void relu(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fmaxf(x[i], 0.0f);
}
