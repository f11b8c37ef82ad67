// Macros that grow beyond any measure, so that whoever reads them gives up before the one that matters.
// expect: rejected policy | rejected stream
// guard: disguised_source
#define A0 x x x x x x x x
#define A1 A0 A0 A0 A0 A0 A0 A0 A0
#define A2 A1 A1 A1 A1 A1 A1 A1 A1
#define A3 A2 A2 A2 A2 A2 A2 A2 A2
#define A4 A3 A3 A3 A3 A3 A3 A3 A3
#define A5 A4 A4 A4 A4 A4 A4 A4 A4
#define A6 A5 A5 A5 A5 A5 A5 A5 A5
#define QUOTED(x) #x
#define TEXT(x) QUOTED(x)
#define MAKE(a, b) a##b

const int kSize = sizeof(TEXT(A6 A6));
void prepare(void** side) { MAKE(cudaStream, Create)(side); }

extern "C" __global__ void relu(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fmaxf(x[i], 0.0f);
}
