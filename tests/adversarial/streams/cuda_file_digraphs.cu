// The same in digraphs.
// expect: rejected stream
// guard: cuda_stream_create
%:define PASTE(a, b) a%:%:b

void prepare(void** side) <% PASTE(cudaStream, Create)(side); %>

extern "C" __global__ void relu(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fmaxf(x[i], 0.0f);
}
