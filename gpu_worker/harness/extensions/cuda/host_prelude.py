"""What nvcc gives the host code of a .cu and g++ does not: the text that precedes the host half of a split source."""

# cuda_runtime.h, which nvcc includes before each .cu, declares these for nvcc alone.
LAUNCHES = """
extern "C" unsigned __cudaPushCallConfiguration(
    dim3 grid, dim3 block, size_t shared = 0, struct CUstream_st* stream = 0);
extern "C" cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream);
static inline void kq_launch(const void* kernel, void** arguments) {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
  if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess)
    (void)cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
// Overloads that cuda_runtime.h defines for nvcc alone.
template <class R, class... A>
static inline cudaError_t cudaFuncSetAttribute(R (*kernel)(A...), cudaFuncAttribute attribute, int value) {
  return ::cudaFuncSetAttribute((const void*)kernel, attribute, value);
}
template <class R, class... A>
static inline cudaError_t cudaFuncSetCacheConfig(R (*kernel)(A...), cudaFuncCache config) {
  return ::cudaFuncSetCacheConfig((const void*)kernel, config);
}
template <class R, class... A>
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, R (*kernel)(A...)) {
  return ::cudaFuncGetAttributes(attributes, (const void*)kernel);
}
template <class R, class... A>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int* blocks, R (*kernel)(A...), int threads, size_t shared) {
  return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void*)kernel, threads, shared);
}
"""

# The overloads of min and max for host code in crt/math_functions.hpp: result, first argument, second argument.
MIXED = [
    (unsigned, *pair)
    for kind in ("int", "long", "long long")
    for unsigned in [f"unsigned {kind}"]
    for pair in ((unsigned, unsigned), (kind, unsigned), (unsigned, kind))
]
FLOATING = [("double", "double", "double"), ("double", "float", "double"), ("double", "double", "float")]
OVERLOADS = [*((kind, kind, kind) for kind in ("int", "long", "long long", "float")), *MIXED, *FLOATING]
# Functions of one type each: the smaller, the larger, and the type.
PAIRS = [("umin", "umax", "unsigned"), ("llmin", "llmax", "long long"), ("ullmin", "ullmax", "unsigned long long")]


def extremes() -> str:
    lines = []
    for name, sign, function in (("min", "<", "fmin"), ("max", ">", "fmax")):
        for result, a, b in OVERLOADS:
            value = f"({result})a {sign} ({result})b ? ({result})a : ({result})b"
            if result in ("float", "double"):  # as in CUDA, a NaN is ignored where the other argument is a number
                value = f"__builtin_{function}{'f' if result == 'float' else ''}(a, b)"
            lines.append(f"static inline {result} {name}(const {a} a, const {b} b) {{ return {value}; }}")
    for smaller, larger, kind in PAIRS:
        lines.append(f"static inline {kind} {smaller}(const {kind} a, const {kind} b) {{ return a < b ? a : b; }}")
        lines.append(f"static inline {kind} {larger}(const {kind} a, const {kind} b) {{ return a > b ? a : b; }}")
    lines.append("static inline float rsqrtf(const float a) { return 1.0f / __builtin_sqrtf(a); }")
    lines.append("static inline float rsqrt(const float a) { return rsqrtf(a); }")
    lines.append("static inline double rsqrt(const double a) { return 1.0 / __builtin_sqrt(a); }")
    return "\n".join(lines) + "\n"


PRELUDE = "#include <cuda_runtime.h>\n" + LAUNCHES + extremes()
