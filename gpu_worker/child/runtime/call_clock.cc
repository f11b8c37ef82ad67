#include "gpu_worker/child/runtime/call_clock.h"

#include <dlfcn.h>

#include <cmath>
#include <cstdio>
#include <ctime>

#include "gpu_worker/channel/cuda_abi.h"
#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

using channel::cuda::Event;
using channel::cuda::Pointer;
using channel::cuda::Result;
using channel::cuda::Stream;

// The functions of the CUDA driver that the clock calls; all are null without CUDA.
struct CudaClock {
  Result (*create)(Event*, unsigned) = nullptr;
  Result (*allocate)(Pointer*, std::size_t) = nullptr;
  Result (*fill)(Pointer, unsigned, std::size_t, Stream) = nullptr;
  Result (*record)(Event, Stream) = nullptr;
  Result (*synchronize)() = nullptr;
  Result (*elapsed)(float*, Event, Event) = nullptr;
  Pointer word = 0;  // its address in device memory; 0 once its context may be gone
  Event start = nullptr;
  Event stop = nullptr;
};
CudaClock cuda;
bool is_cuda = false;
std::int64_t start_ns = 0;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

void start_call_clock() {
  start_ns = now_ns();
  if (!is_cuda) return;
  // The first operation after the GPU has switched to a context may take longer. Filling one word here takes that cost
  // before the clock starts, which makes repeated measurements of short kernels agree.
  if (cuda.word != 0) cuda.fill(cuda.word, 0, 1, nullptr);
  if (cuda.record(cuda.start, nullptr) != 0) cuda.word = 0;
}

bool stop_call_clock() {
  return !is_cuda || cuda.record(cuda.stop, nullptr) == 0;
}

bool read_call_clock(std::int64_t& elapsed_ns) {
  if (!is_cuda) {
    elapsed_ns = now_ns() - start_ns;
    return true;
  }
  float milliseconds = 0;
  if (cuda.synchronize() != 0) return false;
  // If the events were not recorded, for example because the context was reset, the call has not failed: only the hint
  // is missing.
  if (cuda.elapsed(&milliseconds, cuda.start, cuda.stop) != 0) milliseconds = 0, cuda.word = 0;
  elapsed_ns = std::llround(static_cast<double>(milliseconds) * 1e6);
  return true;
}

std::string use_cuda_clock() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return "no CUDA driver here: libcuda.so.1 cannot be opened";
  const bool whole =
      find(library, "cuMemAlloc_v2", cuda.allocate) && find(library, "cuMemsetD32Async", cuda.fill) &&
      find(library, "cuEventCreate", cuda.create) && find(library, "cuEventRecord", cuda.record) &&
      find(library, "cuCtxSynchronize", cuda.synchronize) &&
      (find(library, "cuEventElapsedTime_v2", cuda.elapsed) || find(library, "cuEventElapsedTime", cuda.elapsed));
  if (!whole) return "the CUDA driver is too old: it has no events";
  if (cuda.create(&cuda.start, 0) != 0 || cuda.create(&cuda.stop, 0) != 0)
    return "cuEventCreate failed: no context is current";
  if (const Result failed = cuda.allocate(&cuda.word, sizeof(unsigned)); failed != 0)
    return "cuMemAlloc of one word failed with " + std::to_string(failed);
  is_cuda = true;
  return {};
}

}  // namespace kq::runtime

int kq_clock_use_cuda(char* error, std::size_t error_bytes) {
  const std::string sentence = kq::runtime::use_cuda_clock();
  if (error_bytes > 0) std::snprintf(error, error_bytes, "%s", sentence.c_str());
  return sentence.empty() ? 0 : -1;
}
