// THE RULES: which names a submission may not use, and what to tell its author. One row per rule.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace kq {

struct Rule {
  std::string_view name;
  std::span<const std::string_view> patterns;   // of dotted names; '*' stands for any characters
  std::span<const std::string_view> fine_with;  // first arguments with which the call does no harm
  std::string_view message;
  std::string_view hint;
};

// Streams run beside the one that is timed, whichever library makes them.
inline constexpr std::string_view kStreamMakers[] = {
    "torch.cuda.Stream", "torch.cuda.streams.Stream", "torch.Stream", "torch._C._CudaStreamBase", "torch._C.Stream",
    "torch.cuda._CudaStreamBase", "cupy.cuda.Stream", "cupy.cuda.stream.Stream", "numba.cuda.stream", "pycuda.driver.Stream",
    "*cudaStreamCreate*", "*cuStreamCreate*", "*getStreamFromPool"};
inline constexpr std::string_view kStreamContexts[] = {
    "torch.cuda.stream", "torch.cuda.streams.stream", "torch.cuda.set_stream", "torch.cuda.StreamContext", "torch._C._cuda_setStream",
    "torch.accelerator.set_stream"};
inline constexpr std::string_view kCurrentStreams[] = {
    "torch.cuda.current_stream()", "torch.cuda.default_stream()", "torch.cuda.streams.current_stream()",
    "torch.accelerator.current_stream()"};
inline constexpr std::string_view kForeignStreams[] = {
    "torch.cuda.ExternalStream", "torch.cuda.streams.ExternalStream", "torch.cuda.get_stream_from_external", "cupy.cuda.ExternalStream",
    "cupy.cuda.stream.ExternalStream", "numba.cuda.external_stream", "numba.cuda.per_thread_default_stream"};
inline constexpr std::string_view kGraphs[] = {
    "torch.cuda.CUDAGraph", "torch.cuda.graphs.CUDAGraph", "torch._C._CUDAGraph", "torch.cuda.graph", "torch.cuda.graphs.graph",
    "torch.cuda.make_graphed_callables", "torch.cuda.graphs.make_graphed_callables", "*cudaStreamBeginCapture*", "*cuStreamBeginCapture*",
    "*cudaGraphLaunch*", "*cuGraphLaunch*"};

inline constexpr Rule kRules[] = {
    {"cuda_stream_create", kStreamMakers, {}, "creates a CUDA stream",
     "launch on the current stream: torch.cuda.current_stream() may be read and handed on"},
    {"cuda_stream_external", kForeignStreams, {}, "wraps a CUDA stream made elsewhere",
     "launch on the current stream: torch.cuda.current_stream() may be read and handed on"},
    {"cuda_stream_context", kStreamContexts, kCurrentStreams, "changes the current CUDA stream",
     "leave the current stream as it is: it is the one that is measured"},
    {"cuda_graph", kGraphs, {}, "captures or replays a CUDA graph",
     "call the kernels directly: a capture needs a stream of its own, and a replay sees old inputs"},
};

}  // namespace kq
