"""A corpus of 200 calls of load_inline of the kind that language models write: twenty families with ten cases each.

A family is a function of a number 0 to 9, which varies what people vary: operators, block sizes, dtypes, includes,
flags. Each case says what the module must compute, so that a build is checked by running it.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

BLOCKS = (64, 128, 256, 512, 1024)
# Pairs of a C++ expression of one element x and the same function in torch.
OPERATORS: tuple[tuple[str, Callable[[torch.Tensor], torch.Tensor]], ...] = (
    ("fmaxf(v, 0.0f)", torch.relu),
    ("1.0f / (1.0f + expf(-v))", torch.sigmoid),
    ("tanhf(v)", torch.tanh),
    ("v / (1.0f + expf(-v))", torch.nn.functional.silu),
    ("0.5f * v * (1.0f + erff(v * 0.70710678f))", torch.nn.functional.gelu),
    ("v > 0.0f ? v : 0.01f * v", torch.nn.functional.leaky_relu),
    ("fabsf(v)", torch.abs),
    ("v * v", torch.square),
    ("v > 0.0f ? v : expm1f(v)", torch.nn.functional.elu),
    ("fminf(fmaxf(v, -1.0f), 1.0f)", lambda x: x.clamp(-1, 1)),
)
PLAIN = "#include <torch/extension.h>\n#include <cuda_runtime.h>\n"
WIDE = (
    "#include <torch/extension.h>\n#include <torch/types.h>\n#include <ATen/ATen.h>\n#include "
    "<ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAGuard.h>\n"
    "#include <c10/cuda/CUDAException.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n#include "
    "<cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <vector>\n"
    "#include <cmath>\n#include <algorithm>\n#include <limits>\n"
)


@dataclass
class Case:
    name: str
    cuda: str
    functions: list[str]
    cpp: str
    inputs: Callable[[], list[Any]]
    expected: Callable[..., Any]
    call: str = "run"
    options: dict[str, Any] = field(default_factory=dict)  # further arguments of load_inline
    tolerance: float = 1e-4


def vector(n: int = 5000, dtype: torch.dtype = torch.float32) -> Callable[[], list[Any]]:
    return lambda: [torch.randn(n, dtype=dtype)]


def matrix(rows: int = 37, columns: int = 300) -> Callable[[], list[Any]]:
    return lambda: [torch.randn(rows, columns)]


def unary(name: str, i: int, cuda: str, **more: Any) -> Case:
    return Case(
        f"{name}_{i}",
        cuda,
        ["run"],
        "torch::Tensor run(torch::Tensor x);",
        more.pop("inputs", vector()),
        more.pop("expected", OPERATORS[i][1]),
        **more,
    )


def elementwise(i: int) -> Case:
    return unary("elementwise", i, PLAIN + f"""
__global__ void run_kernel(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{ float v = x[i]; y[i] = {OPERATORS[i][0]}; }}
}}
torch::Tensor run(torch::Tensor x) {{
    auto size = x.numel();
    auto y = torch::empty_like(x);
    const int block_size = {BLOCKS[i % 5]};
    const int num_blocks = (size + block_size - 1) / block_size;
    run_kernel<<<num_blocks, block_size>>>(x.data_ptr<float>(), y.data_ptr<float>(), size);
    return y;
}}
""", options={"extra_cflags": [""], "extra_ldflags": [""]} if i % 2 else {"verbose": False})  # fmt: skip


def vectorised(i: int) -> Case:
    return unary("vectorised", i, WIDE + f"""
#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)
__device__ __forceinline__ float op(float v) {{ return {OPERATORS[i][0]}; }}
__global__ void __launch_bounds__({BLOCKS[i % 5]}) vec4(const float4* __restrict__ x, float4* __restrict__ y, int n4) {{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += blockDim.x * gridDim.x) {{
        float4 a = __ldg(x + i);
        y[i] = make_float4(op(a.x), op(a.y), op(a.z), op(a.w));
    }}
}}
torch::Tensor run(torch::Tensor x) {{
    CHECK_INPUT(x);
    const at::cuda::OptionalCUDAGuard device_guard(device_of(x));
    torch::Tensor y = torch::empty(x.sizes(), x.options());
    vec4<<<dim3(32), dim3({BLOCKS[i % 5]}), 0, at::cuda::getCurrentCUDAStream()>>>(reinterpret_cast<const float4*>(x.data_ptr<float>()), reinterpret_cast<float4*>(y.data_ptr<float>()), static_cast<int>(x.numel() / 4));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}}
""", options={"extra_cuda_cflags": ["-O3", "--use_fast_math"]}, tolerance=1e-3)  # fmt: skip


def dispatched(i: int) -> Case:
    dtype = (torch.float32, torch.float16, torch.bfloat16, torch.float64)[i % 4]
    return unary("dispatched", i, WIDE + f"""
namespace {{
template <typename scalar_t, int kUnroll = 1>
__global__ void dispatched_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, const int64_t n) {{
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {{ float v = static_cast<float>(x[i]); y[i] = static_cast<scalar_t>({OPERATORS[i][0]}); }}
}}
}}  // namespace
torch::Tensor run(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    const int threads = {BLOCKS[i % 5]};
    AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "run", ([&] {{
        dispatched_kernel<scalar_t, 4><<<(n + threads - 1) / threads, threads>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n);
    }}));
    return y;
}}
""", inputs=vector(dtype=dtype), tolerance=1e-4 if dtype.itemsize > 2 else 2e-2)  # fmt: skip


def row_sum(i: int) -> Case:
    return unary("row_sum", i, PLAIN + f"""
__inline__ __device__ float warp_sum(float value) {{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}}
__global__ void row_sum_kernel(const float* x, float* out, int columns) {{
    __shared__ float partial[32];
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {{ float v = x[blockIdx.x * columns + c]; sum += {OPERATORS[i][0]}; }}
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {{
        sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
        sum = warp_sum(sum);
        if (threadIdx.x == 0) out[blockIdx.x] = sum;
    }}
}}
torch::Tensor run(torch::Tensor x) {{
    auto out = torch::zeros({{x.size(0)}}, torch::TensorOptions().dtype(torch::kFloat32).device(x.device()));
    row_sum_kernel<<<x.size(0), {BLOCKS[i % 5]}>>>(x.data_ptr<float>(), out.data_ptr<float>(), (int)x.size(1));
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) throw std::runtime_error(cudaGetErrorString(err));
    return out;
}}
""", inputs=matrix(), expected=lambda x: OPERATORS[i][1](x).sum(1), tolerance=1e-3)  # fmt: skip


def softmax(i: int) -> Case:
    return unary("softmax", i, WIDE + f"""
template <int BLOCK>
__global__ void softmax_kernel(const float* __restrict__ x, float* __restrict__ y, int columns) {{
    extern __shared__ float shared[];
    const float* row = x + (size_t)blockIdx.x * columns;
    float largest = -INFINITY;
    for (int c = threadIdx.x; c < columns; c += BLOCK) largest = fmaxf(largest, row[c]);
    shared[threadIdx.x] = largest;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {{ if (threadIdx.x < s) shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + s]); __syncthreads(); }}
    largest = shared[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += BLOCK) sum += expf(row[c] - largest);
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int s = BLOCK / 2; s > 0; s >>= 1) {{ if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s]; __syncthreads(); }}
    for (int c = threadIdx.x; c < columns; c += BLOCK) y[(size_t)blockIdx.x * columns + c] = expf(row[c] - largest) / shared[0];
}}
torch::Tensor run(torch::Tensor x) {{
    x = x.contiguous();
    auto y = at::empty_like(x);
    constexpr int block = {BLOCKS[i % 5]};
    softmax_kernel<block><<<x.size(0), block, block * sizeof(float)>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1));
    return y;
}}
""", inputs=matrix(columns=200 + 31 * i), expected=lambda x: torch.softmax(x, 1))  # fmt: skip


def matmul(i: int) -> Case:
    tile = (8, 16, 32)[i % 3]
    return Case(f"matmul_{i}", PLAIN + f"""
#define TILE {tile}
__global__ void matmul_kernel(const float* A, const float* B, float* C, int M, int N, int K) {{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {{
        As[threadIdx.y][threadIdx.x] = (row < M && t * TILE + threadIdx.x < K) ? A[row * K + t * TILE + threadIdx.x] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = (col < N && t * TILE + threadIdx.y < K) ? B[(t * TILE + threadIdx.y) * N + col] : 0.0f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }}
    if (row < M && col < N) C[row * N + col] = sum;
}}
torch::Tensor run(torch::Tensor A, torch::Tensor B) {{
    int M = A.size(0), K = A.size(1), N = B.size(1);
    auto C = torch::zeros({{M, N}}, A.options());
    dim3 threads(TILE, TILE);
    dim3 blocks((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul_kernel<<<blocks, threads>>>(A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}}
""", ["run"], "torch::Tensor run(torch::Tensor A, torch::Tensor "
              "B);", lambda: [torch.randn(40 + i, 70), torch.randn(70, 33)], lambda a, b: a @ b, tolerance=2e-2)  # fmt: skip


def layer_norm(i: int) -> Case:
    return Case(f"layer_norm_{i}", WIDE + f"""
struct Moments {{ float mean; float m2; }};
__global__ void layer_norm_kernel(const float* x, const float* gamma, const float* beta, float* y, int columns, float eps) {{
    __shared__ float sums[2][{BLOCKS[i % 5]}];
    const int row = blockIdx.x, t = threadIdx.x;
    Moments own{{0.0f, 0.0f}};
    for (int c = t; c < columns; c += blockDim.x) {{ float v = x[row * columns + c]; own.mean += v; own.m2 += v * v; }}
    sums[0][t] = own.mean; sums[1][t] = own.m2;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {{
        if (t < s) {{ sums[0][t] += sums[0][t + s]; sums[1][t] += sums[1][t + s]; }}
        __syncthreads();
    }}
    const float mean = sums[0][0] / columns;
    const float scale = rsqrtf(sums[1][0] / columns - mean * mean + eps);
    for (int c = t; c < columns; c += blockDim.x) y[row * columns + c] = (x[row * columns + c] - mean) * scale * gamma[c] + beta[c];
}}
torch::Tensor run(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps) {{
    auto y = torch::empty_like(x);
    layer_norm_kernel<<<x.size(0), {BLOCKS[i % 5]}>>>(x.data_ptr<float>(), gamma.data_ptr<float>(), beta.data_ptr<float>(), y.data_ptr<float>(), x.size(1), static_cast<float>(eps));
    return y;
}}
""", ["run"], "torch::Tensor run(torch::Tensor x, torch::Tensor gamma, torch::Tensor beta, double eps);",
        lambda: [torch.randn(19, 128 + i), torch.rand(128 + i), torch.rand(128 + i), 1e-5],
        lambda x, g, b, eps: torch.nn.functional.layer_norm(x, g.shape, g, b, eps), tolerance=1e-3)  # fmt: skip


def two_kernels(i: int) -> Case:
    return unary("two_kernels", i, PLAIN + f"""
__global__ void partial_kernel(const float* x, float* partial, int n) {{
    __shared__ float sums[{BLOCKS[i % 5]}];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {{ float v = x[i]; sum += {OPERATORS[i][0]}; }}
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {{ if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s]; __syncthreads(); }}
    if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}}
__global__ void final_kernel(const float* partial, float* out, int n, float scale) {{
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += partial[i];
    *out = sum * scale;
}}
torch::Tensor run(torch::Tensor x) {{
    const int blocks = {16 + i};
    auto partial = torch::empty({{blocks}}, x.options());
    auto out = torch::empty({{}}, x.options());
    partial_kernel<<<blocks, {BLOCKS[i % 5]}>>>(x.data_ptr<float>(), partial.data_ptr<float>(), x.numel());
    final_kernel<<<1, 1>>>(partial.data_ptr<float>(), out.data_ptr<float>(), blocks, 1.0f / x.numel());
    return out;
}}
""", expected=lambda x: OPERATORS[i][1](x).mean())  # fmt: skip


def cublas(i: int) -> Case:
    return Case(f"cublas_{i}", WIDE + f"""
#include <cublas_v2.h>
__global__ void bias_kernel(float* y, const float* bias, int rows, int columns) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * columns) {{ float v = y[i] + bias[i % columns]; y[i] = {OPERATORS[i][0]}; }}
}}
torch::Tensor run(torch::Tensor a, torch::Tensor b, torch::Tensor bias) {{
    const int m = a.size(0), k = a.size(1), n = b.size(1);
    auto y = torch::empty({{m, n}}, a.options());
    const float one = 1.0f, zero = 0.0f;
    cublasHandle_t handle = at::cuda::getCurrentCUDABlasHandle();
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b.data_ptr<float>(), n, a.data_ptr<float>(), k, &zero, y.data_ptr<float>(), n);
    bias_kernel<<<(m * n + 255) / 256, 256>>>(y.data_ptr<float>(), bias.data_ptr<float>(), m, n);
    return y;
}}
""", ["run"], "torch::Tensor run(torch::Tensor a, torch::Tensor b, torch::Tensor "
              "bias);", lambda: [torch.randn(20 + i, 30), torch.randn(30, 17), torch.randn(17)],
        lambda a, b, bias: OPERATORS[i][1](a @ b + bias), options={"extra_ldflags": ["-lcublas"]}, tolerance=2e-2)  # fmt: skip


def own_module(i: int) -> Case:
    case = elementwise(i)
    module = (
        'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &run, "what it does", pybind11::arg("x")); }\n'
    )
    if i % 2:
        return Case(
            f"own_module_{i}",
            case.cuda,
            [],
            "#include <torch/extension.h>\ntorch::Tensor run(torch::Tensor x);\n" + module,
            case.inputs,
            case.expected,
            "forward",
        )
    return Case(f"own_module_{i}", case.cuda + module, [], "", case.inputs, case.expected, "forward")


def constant(i: int) -> Case:
    return unary("constant", i, PLAIN + f"""
__constant__ float weights[4];
__global__ void constant_kernel(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{ float v = x[i]; y[i] = ({OPERATORS[i][0]}) * weights[i % 4]; }}
}}
torch::Tensor run(torch::Tensor x) {{
    const float host[4] = {{1.0f, 2.0f, 3.0f, 4.0f}};
    cudaMemcpyToSymbol(weights, host, sizeof(host));
    auto y = torch::empty_like(x);
    constant_kernel<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}}
""", expected=lambda x: OPERATORS[i][1](x) * (torch.arange(x.numel(), device=x.device) % 4 + 1))  # fmt: skip


def block_reduce(i: int) -> Case:
    return unary("block_reduce", i, PLAIN + f"""
#include <cub/cub.cuh>
template <int THREADS>
__global__ void sum_kernel(const float* x, float* out, int columns) {{
    using Reduce = cub::BlockReduce<float, THREADS>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = 0;
    for (int c = threadIdx.x; c < columns; c += THREADS) {{ float v = x[blockIdx.x * columns + c]; sum += {OPERATORS[i][0]}; }}
    sum = Reduce(storage).Sum(sum);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}}
torch::Tensor run(torch::Tensor x) {{
    auto out = torch::empty({{x.size(0)}}, x.options());
    sum_kernel<{BLOCKS[i % 5]}><<<x.size(0), {BLOCKS[i % 5]}>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}}
""", inputs=matrix(), expected=lambda x: OPERATORS[i][1](x).sum(1), tolerance=1e-3)  # fmt: skip


def functor(i: int) -> Case:
    return unary("functor", i, WIDE + f"""
struct Op {{
    float scale;
    __device__ __forceinline__ float operator()(float v) const {{ return ({OPERATORS[i][0]}) * scale; }}
}};
template <typename F>
__global__ void map_kernel(const float* x, float* y, int n, F f) {{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = f(x[i]);
}}
template <typename F>
void launch(torch::Tensor x, torch::Tensor y, F f) {{
    map_kernel<F><<<64, {BLOCKS[i % 5]}>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), f);
}}
torch::Tensor run(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    launch(x, y, Op{{2.0f}});
    return y;
}}
""", expected=lambda x: OPERATORS[i][1](x) * 2)  # fmt: skip


def half_pairs(i: int) -> Case:
    return unary("half_pairs", i, WIDE + f"""
__global__ void half_kernel(const __half2* x, __half2* y, int pairs) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    float2 p = __half22float2(x[i]);
    {{ float v = p.x; p.x = {OPERATORS[i][0]}; }}
    {{ float v = p.y; p.y = {OPERATORS[i][0]}; }}
    y[i] = __hadd2(__floats2half2_rn(p.x, p.y), __float2half2_rn(1.0f));
}}
torch::Tensor run(torch::Tensor x) {{
    TORCH_CHECK(x.scalar_type() == at::kHalf, "half expected");
    auto y = torch::empty_like(x);
    int pairs = x.numel() / 2;
    half_kernel<<<(pairs + 255) / 256, 256>>>((const __half2*)x.data_ptr<at::Half>(), (__half2*)y.data_ptr<at::Half>(), pairs);
    return y;
}}
""", inputs=vector(dtype=torch.float16), expected=lambda x: OPERATORS[i][1](x.float()).half() + 1, tolerance=2e-2,
        options={"extra_cuda_cflags": ["-O3", "-U__CUDA_NO_HALF_OPERATORS__", "-U__CUDA_NO_HALF_CONVERSIONS__", "-U__CUDA_NO_HALF2_OPERATORS__"]} if i % 2 else {})  # fmt: skip


def groups(i: int) -> Case:
    return unary("groups", i, PLAIN + f"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void group_kernel(const float* x, float* out, int columns) {{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    float sum = 0;
    for (int c = warp.thread_rank(); c < columns; c += warp.size()) {{ float v = x[blockIdx.x * columns + c]; sum += {OPERATORS[i][0]}; }}
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0) out[blockIdx.x] = sum;
}}
torch::Tensor run(torch::Tensor x) {{
    auto out = torch::empty({{x.size(0)}}, x.options());
    group_kernel<<<x.size(0), 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}}
""", inputs=matrix(), expected=lambda x: OPERATORS[i][1](x).sum(1), tolerance=1e-3)  # fmt: skip


def big_shared(i: int) -> Case:
    return unary("big_shared", i, WIDE + f"""
__global__ void shared_kernel(const float* x, float* y, int n) {{
    extern __shared__ __align__(16) float tile[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) tile[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {{ float v = tile[n - 1 - i]; y[n - 1 - i] = {OPERATORS[i][0]}; }}
}}
torch::Tensor run(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    const int n = x.numel();
    const size_t bytes = n * sizeof(float);
    C10_CUDA_CHECK(cudaFuncSetAttribute(shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    shared_kernel<<<1, {BLOCKS[i % 5]}, bytes>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}}
""", inputs=vector(20000 + i))  # fmt: skip


def many_outputs(i: int) -> Case:
    return Case(f"many_outputs_{i}", WIDE + """
__global__ void stats_kernel(const float* x, float* sums, int64_t* counts, bool positive, int columns) {
    float sum = 0; int64_t count = 0;
    for (int c = 0; c < columns; ++c) { float v = x[blockIdx.x * columns + c]; sum += v; count += (v > 0) == positive; }
    sums[blockIdx.x] = sum; counts[blockIdx.x] = count;
}
std::vector<torch::Tensor> run(torch::Tensor x, bool positive, c10::optional<double> scale) {
    auto sums = torch::empty({x.size(0)}, x.options());
    auto counts = torch::empty({x.size(0)}, x.options().dtype(torch::kInt64));
    stats_kernel<<<x.size(0), 1>>>(x.data_ptr<float>(), sums.data_ptr<float>(), counts.data_ptr<int64_t>(), positive, x.size(1));
    if (scale.has_value()) sums.mul_(scale.value());
    return {sums, counts};
}
""", ["run"], "#include <vector>\nstd::vector<torch::Tensor> run(torch::Tensor x, bool positive, "
              "c10::optional<double> scale);",
        lambda: [torch.randn(11, 50 + i), bool(i % 2), 2.0 if i % 3 else None],
        lambda x, p, s: [x.sum(1) * (s or 1), ((x > 0) == p).sum(1)], tolerance=1e-3)  # fmt: skip


def cpp_only(i: int) -> Case:
    body = f"""
torch::Tensor run(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {{ const float v = in[i]; out[i] = {OPERATORS[i][0]}; }}
    return y;
}}
"""
    options: dict[str, Any] = {"extra_cflags": [["-O3"], ["-O2"], [], ["-O3", "-std=c++20"], ["-O1"]][i % 5]}
    return Case(
        f"cpp_only_{i}",
        "",
        ["run"],
        "#include <torch/extension.h>\n#include <cmath>\n" + body,
        vector(),
        OPERATORS[i][1],
        options=options,
    )


def split_sources(i: int) -> Case:
    case = elementwise(i)
    kernel, _, host = case.cuda.partition("torch::Tensor run")
    more = (
        "__global__ void run_kernel(const float* x, float* y, int n);\nvoid launch(const float* x, float* y, int "
        f"n) {{ run_kernel<<<(n + {BLOCKS[i % 5] - 1}) / {BLOCKS[i % 5]}, {BLOCKS[i % 5]}>>>(x, y, n); }}\n"
    )
    cpp = (
        "#include <torch/extension.h>\nvoid launch(const float* x, float* y, int n);\ntorch::Tensor "
        "run(torch::Tensor x) { auto y = torch::empty_like(x); launch(x.data_ptr<float>(), y.data_ptr<float>(), "
        "(int)x.numel()); return y; }\n"
    )
    return Case(f"split_sources_{i}", kernel + more, ["run"], cpp, case.inputs, case.expected)


def conditional(i: int) -> Case:
    return unary("conditional", i, PLAIN + f"""
#ifndef BLOCK
#define BLOCK {BLOCKS[i % 5]}
#endif
static inline __host__ __device__ int ceil_div(int a, int b) {{ return (a + b - 1) / b; }}
enum class Mode : int {{ kPlain = 0, kTwice = 1 }};
template <Mode mode>
__device__ __forceinline__ float apply(float v) {{
    if constexpr (mode == Mode::kTwice) return 2.0f * ({OPERATORS[i][0]});
    return {OPERATORS[i][0]};
}}
template <Mode mode>
__global__ void __launch_bounds__(BLOCK, 1) conditional_kernel(const float* __restrict__ const x, float* __restrict__ const y, const unsigned int n) {{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    const unsigned int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) y[i] = apply<mode>(x[i]);
#endif
}}
torch::Tensor run(torch::Tensor x) {{
    auto y = torch::empty_like(x);
    const unsigned int n = x.numel();
    if (n % 2 == 1) {{
        conditional_kernel<Mode::kTwice><<<ceil_div(n, BLOCK), BLOCK>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    }} else
        conditional_kernel<Mode::kPlain><<<ceil_div(n, BLOCK), BLOCK>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}}
""")  # fmt: skip


FAMILIES = (
    elementwise, vectorised, dispatched, row_sum, softmax, matmul, layer_norm, two_kernels, cublas, own_module,
    constant, block_reduce, functor, half_pairs, groups, big_shared, many_outputs, cpp_only, split_sources, conditional,
)  # fmt: skip


def cases() -> list[Case]:
    return [family(i) for i in range(10) for family in FAMILIES]


def arguments_of(case: Case) -> dict[str, Any]:
    """Returns the arguments of torch.utils.cpp_extension.load_inline."""
    name = case.name
    return {
        "name": name,
        "cpp_sources": case.cpp,
        **({"cuda_sources": case.cuda} if case.cuda else {}),
        "functions": case.functions or None,
        **case.options,
    }


def outputs(case: Case, module: Any, device: str) -> tuple[list[Any], list[torch.Tensor]]:
    """Returns inputs, which are the same each time, and the module's results for them."""
    torch.manual_seed(0)
    inputs = [value.to(device) if isinstance(value, torch.Tensor) else value for value in case.inputs()]
    found = getattr(module, case.call)(*inputs)
    return inputs, list(found) if isinstance(found, (list, tuple)) else [found]


def digest(case: Case, module: Any, device: str) -> str:
    """Returns a hash of every bit of the results."""
    hashed = hashlib.sha256()
    for tensor in outputs(case, module, device)[1]:
        hashed.update(
            f"{tensor.dtype} {tuple(tensor.shape)}".encode()
            + tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        )
    return hashed.hexdigest()[:16]


def wrong(case: Case, module: Any, device: str) -> str:
    """Returns how the module's results differ from the expected ones, or an empty text."""
    inputs, found = outputs(case, module, device)
    expected = case.expected(*inputs)
    for got, wanted in zip(found, expected if isinstance(expected, list) else [expected], strict=True):
        if got.shape != wanted.shape or not torch.allclose(
            got.double(), wanted.double(), rtol=case.tolerance, atol=case.tolerance
        ):
            return f"{case.name}: {got.flatten()[:3].tolist()}, expected {wanted.flatten()[:3].tolist()}"
    return ""
