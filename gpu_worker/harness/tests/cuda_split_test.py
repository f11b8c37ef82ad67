"""Tests what the two halves of a CUDA source hold, and which sources are left to nvcc."""

import unittest

from harness.extensions.cuda.cuda_split import Refused, split

ADD = """#include <torch/extension.h>
#include <cub/cub.cuh>
#include <cuda_fp16.h>
constexpr int kBlock = 256;
__device__ float twice(float x) { return 2 * x; }
__host__ __device__ int blocks(int n) { return (n + kBlock - 1) / kBlock; }
struct Scale {
  float by;
  __device__ float operator()(float x) const { return __fmul_rn(x, by); }
};
static __global__ void __launch_bounds__(256) add(const float* __restrict__ x, float* out, int n, Scale scale) {
  __shared__ float tile[kBlock];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = twice(scale(x[i]));
}
torch::Tensor run(torch::Tensor x) {
  auto out = torch::empty_like(x);
  add<<<blocks(x.numel()), kBlock>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel(), Scale{2});
  return out;
}
"""


class Split(unittest.TestCase):
    def test_the_device_half_has_the_limits_that_nvcc_has_by_torch(self) -> None:
        for header, has_limits in (("torch/types.h", True), ("torch/extension.h", True), ("c10/util/Half.h", False)):
            device = split(ADD.replace("torch/extension.h", header)).device
            self.assertEqual(device.startswith("#include <cfloat>\n#include <cub/cub.cuh>\n"), has_limits, header)

    def test_the_host_launches_and_the_device_computes(self) -> None:
        halves = split(ADD)
        self.assertEqual([(kernel.name, kernel.is_template) for kernel in halves.kernels], [("add", False)])
        self.assertIn(
            "(__cudaPushCallConfiguration(blocks(x.numel()), kBlock)) ? (void)0 : add(x.data_ptr<float>()", halves.host
        )
        self.assertIn(
            (
                "(void*)__builtin_addressof(x), (void*)__builtin_addressof(out), "
                "(void*)__builtin_addressof(n), (void*)__builtin_addressof(scale)"
            ),
            halves.host,
        )
        for words in ("tile", "2 * x", "__fmul_rn", "cub/"):
            self.assertNotIn(words, halves.host)
        for words in ("torch", "static"):
            self.assertNotIn(words, halves.device)
        for words in ("tile", "2 * x", "__fmul_rn", "cub/", "blocks(int n)", "__launch_bounds__(256)"):
            self.assertIn(words, halves.device)
        for half in (halves.host, halves.device):
            self.assertEqual(half.count("\n"), ADD.count("\n"), "an error is in the line it was in")

    def test_what_nvcc_refuses_is_not_made_of_host_functions(self) -> None:
        kernel = "__global__ void k(float* x) { x[0] = 1; }\n"
        halves = split(f"__device__ float twice(float x) {{ return 2 * x; }}\n{kernel}")
        self.assertIn("float twice(float x)  = delete;", halves.host, "a call of a device function is an error")
        with self.assertRaisesRegex(Refused, "what is launched is no kernel of the source"):
            split(f"{kernel}void g(float* x) {{ x[0] = 2; }}\nvoid f(float* x) {{ g<<<1, 1>>>(x); }}")

    def test_a_template_is_told_by_its_parameters(self) -> None:
        halves = split(
            "namespace { template <typename T, int N = 4> __global__ void k(T* x) { x[0] = N; } }\n"
            'void f(torch::Tensor x) { AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "k", ([&] { '
            "k<scalar_t, 8><<<dim3(1, 2), 32, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<scalar_t>()); })); }"
        )
        self.assertTrue(halves.kernels[0].is_template)
        self.assertIn("kq_launch((const void*)&k<T, N>, kq_arguments)", halves.host)
        self.assertIn("? (void)0 : k<scalar_t, 8>(x.data_ptr", halves.host)
        self.assertIn("inline namespace kq_local", halves.device)

    def test_variables_of_the_device_are_not_the_hosts(self) -> None:
        halves = split(
            "__constant__ float w[4];\n__device__ int count = 0;\n"
            "__global__ void k(int n) { count += w[n]; }\nvoid f() { k<<<1, 1>>>(2); }"
        )
        self.assertNotIn("count", halves.host)
        self.assertNotIn("w[4]", halves.host)
        self.assertIn("count = 0", halves.device)

    def test_a_variable_that_the_host_names_stands_for_the_devices(self) -> None:
        halves = split(
            "namespace f {\nstatic __constant__ float w[2 * 2];\n__device__ __align__(8) int count = 0, other;\n"
            "__device__ float3* scale = nullptr;\n"
            "__device__ int unnamed;\n__global__ void k(int n) { count += w[n]; }\n}\n"
            "void g(void* v) { cudaMemcpyToSymbol(f::w, v, 16); cudaMemcpyFromSymbol(v, f::scale, 8); "
            "cudaMemcpyFromSymbol(v, f::count, 4); f::k<<<1, 1>>>(2); }"
        )
        self.assertEqual(
            [(variable.name, variable.is_constant) for variable in halves.variables], [("w", True), ("scale", False)]
        )
        self.assertIn('\n __attribute__((visibility("hidden"))) float w[2 * 2];', halves.host)
        self.assertIn(" float3* scale = nullptr;", halves.host)
        for words in ("unnamed", "count = 0"):
            self.assertNotIn(words, halves.host)
        self.assertIn("\n __constant__ float w[2 * 2];", halves.device, "a static one could not be found by name")
        self.assertEqual(halves.host.count("\n"), halves.device.count("\n"))
        for declared in (
            "__constant__ const float w[4] = {1, 2, 3, 4};",
            "extern __constant__ float w[4];",
            "template <int N> __device__ float w[N];",
        ):
            left = split(
                declared
                + "\n__global__ void k(int n) { }\nvoid f(void* v) { cudaMemcpyToSymbol(w, v, 16); k<<<1, 1>>>(2); }"
            )
            self.assertEqual(left.variables, [], declared)
            self.assertNotIn("float w", left.host, declared)
        kernel = "__global__ void k(int n) { }\nvoid f(void* v) { cudaMemcpyToSymbol(w, v, 16); k<<<1, 1>>>(2); }"
        for declared in (
            "__constant__ __align__(16) float4 w;",
            "__device__ alignas(8) int2 w;",
            "__constant__ float w[2];",
        ):
            self.assertNotIn(
                declared.partition(" ")[2], split(declared + "\n" + kernel).host.replace("float w[2];", ""), declared
            )
        for declared in (
            "__device__ unsigned w(0);",
            "__device__ float (*w)(float);",
            "__constant__ unsigned w(kOther);",
        ):
            with self.assertRaisesRegex(Refused, "not known"):
                split(declared + "\n" + kernel)
        self.assertIn("float twice(float x);", split("__device__ float twice(float x);\n" + kernel).host)
        with self.assertRaisesRegex(Refused, "one name"):
            split(
                "namespace a { __device__ int n; }\nnamespace b { __device__ int n; }\n"
                "__global__ void k() { }\nvoid f() { use(a::n, b::n); k<<<1, 1>>>(); }"
            )

    def test_a_source_may_call_libraries_and_have_no_kernel(self) -> None:
        halves = split("#include <cublas_v2.h>\nvoid f() { cublasHandle_t handle; cublasCreate(&handle); }\n")
        self.assertIn("cublasCreate(&handle)", halves.host)
        self.assertNotIn("cublasCreate", halves.device)
        self.assertEqual(halves.kernels, [])

    def test_what_is_not_known_for_certain_is_left_to_nvcc(self) -> None:
        kernel = "__global__ void k(int n) { }\n"
        for source, why in (
            ("__constant__ float c[2];\nvoid f() {}", "no kernel"),
            ("#define K __global__ void\n" + kernel, "macro"),
            (kernel + "#ifdef __CUDACC__\n#endif", "condition"),
            (kernel + '#include "own.h"', "file of its own"),
            (kernel + "#include <ATen/cuda/Atomic.cuh>", "Atomic.cuh"),
            ("__global__ void k(int) { }", "without a name"),
            ("template <typename... T> __global__ void k(T... x) { }", "pack"),
            (kernel + "void f() { auto g = [] __device__ (int x) { return x; }; }", "device code in it"),
            (kernel + "void f(P p) { p.k<<<1, 1>>>(2); }", "no name"),
            (kernel + "__global__ void k(float n) { }\n", "one name"),
            (kernel + "void f() {", "never closed"),
            (kernel + "int f() {\n#if A\nreturn 1; }\n#else\nreturn 2; }\n#endif\n", ""),
        ):
            with self.subTest(source), self.assertRaisesRegex(Refused, why):
                split(source)


if __name__ == "__main__":
    unittest.main()
