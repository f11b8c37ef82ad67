// A struct and a parameter of a template have names that are threads in std.
// expect: passed
// guard: clean
// gpu: no
#include <cuda_runtime.h>

using namespace std;
struct async {
  int first;
};
template <int thread>
__global__ void relu(const float* x, float* y, int n) {
  async block{static_cast<int>(blockIdx.x) * thread};
  const int i = block.first + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
