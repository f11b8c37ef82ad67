"""Tests that the device half of a source gives the kernels that nvcc makes of the whole source, to the last
instruction, and that its host half compiles. Needs nvcc and no GPU.
"""

import re
import tempfile
import unittest
from pathlib import Path

from harness.extensions.cuda import cuda_split
from harness.extensions.cuda.host_prelude import PRELUDE
from harness.extensions.toolchain import STANDARD, find_toolchain, run

SOURCES = {
    "shared memory and a constant": """
__constant__ float factors[4];
__device__ __forceinline__ float above(float v) { return v > 0.f ? v : 0.f; }
static __global__ void __launch_bounds__(256) total(const float* __restrict__ x, float* y, int n) {
  extern __shared__ float tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? above(x[i]) * factors[i & 3] : 0.f;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k /= 2) {
    if (threadIdx.x < k) tile[threadIdx.x] += tile[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(y, tile[0]);
}
void run(const float* x, float* y, int n, const float* by) {
  cudaMemcpyToSymbol(factors, by, sizeof(factors));
  total<<<min(max((n + 255) / 256, 1), 65535), 256, 256 * sizeof(float)>>>(x, y, n);
}
""",
    "half precision, vectors and a struct": """
#include <cuda_fp16.h>
struct Scale { float by; __host__ __device__ float operator()(float x) const { return x * by; } };
namespace {
__global__ void scale(const half2* x, half2* y, float4* z, int n, Scale by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = __hfma2(x[i], x[i], y[i]);
  z[i] = make_float4(by(__low2float(x[i])), __shfl_xor_sync(0xffffffffu, z[i].x, 1), 0.f, sqrtf(z[i].y));
}
}
void run(const half2* x, half2* y, float4* z, int n) { scale<<<(n + 255) / 256, 256>>>(x, y, z, n, Scale{2.f}); }
""",
    "two kernels and a stream": """
__global__ void first(double* x, long n) { for (long i = threadIdx.x; i < n; i += blockDim.x) x[i] = exp(x[i]); }
extern "C" __global__ void second(double* x, long n) {
  for (long i = threadIdx.x; i < n; i += blockDim.x) x[i] = fma(x[i], x[i], rsqrt(x[i]));
}
void run(double* x, long n, cudaStream_t stream) {
  first<<<1, 256, 0, stream>>>(x, n);
  second<<<dim3(1), dim3(min(n, 256L)), 0, stream>>>(x, n);
}
""",
}
# Host code that nvcc's overloads of min and max make correct.
EXTREMES = """
#include <type_traits>
int run(int n, unsigned u, long l, unsigned long ul, long long ll, float f, double d) {
  static_assert(std::is_same<decltype(min(n, u)), unsigned>::value);
  static_assert(std::is_same<decltype(max(l, ul)), unsigned long>::value);
  static_assert(std::is_same<decltype(min(f, d)), double>::value);
  static_assert(std::is_same<decltype(max(ll, ll)), long long>::value);
  return min(n, 3) + max(u, 4) + (int)max(f, 1.f) + (int)min(d, 2.0) + (int)umin(u, 3) + (int)rsqrt(d);
}
__global__ void k() {}
"""


def ptx_of(text: str) -> dict[str, str]:
    """Returns the text of every kernel by its name, without the hash that an unnamed namespace adds."""
    text = re.sub(r"//.*|\.(?:file|loc) .*", "", text)
    found = re.findall(r"\.entry\s+(\w+)\((.*?)\n\}", text, re.S)
    return {re.sub(r"_GLOBAL__N__\w+?_\d+_|kq_local", "", name): body for name, body in found}


@unittest.skipUnless(find_toolchain().nvcc, "needs nvcc")
class Halves(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.tools = find_toolchain()

    def ptx(self, name: str, text: str) -> list[str]:
        source, out = self.root / f"{name}.cu", self.root / f"{name}.ptx"
        source.write_text(text)
        result = run([self.tools.nvcc, STANDARD, "-arch=sm_90", "-ptx", "-o", str(out), str(source)], self.root)
        self.assertEqual(result.code, 0, result.text)
        kernels = ptx_of(out.read_text())
        names = re.compile("|".join(re.escape(name) for name in re.findall(r"\.entry\s+(\w+)", out.read_text())))
        return [re.sub(r"\b_Z\w+_param", "param", names.sub("kernel", body)) for _, body in sorted(kernels.items())]

    def host(self, text: str) -> None:
        source = self.root / "host.cpp"
        source.write_text(PRELUDE + cuda_split.split(text).host)
        flags = [STANDARD, "-w", "-O1", "-isystem", f"{self.tools.cuda}/include"]
        result = run([self.tools.cxx, *flags, "-c", str(source), "-o", str(self.root / "host.o")], self.root)
        self.assertEqual(result.code, 0, result.text)

    def test_kernels_are_nvccs_own(self) -> None:
        for name, text in SOURCES.items():
            with self.subTest(name):
                whole, half = self.ptx("whole", text), self.ptx("half", cuda_split.split(text).device)
                self.assertTrue(whole)
                self.assertEqual(whole, half)
                self.host(text)

    def test_host_code_has_nvccs_min_and_max(self) -> None:
        self.host(EXTREMES)
        self.ptx("extremes", EXTREMES)  # nvcc agrees about the types


if __name__ == "__main__":
    unittest.main()
