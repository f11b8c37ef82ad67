#include "gpu_worker/judge/device/cuda_mapped.h"

#include <atomic>

#include "gpu_worker/judge/device/clock.h"

namespace kq::judge::cuda {
namespace {

// The limit is far above the 2.4 ms of another context's time slice, after which the judge's own kernel runs.
constexpr std::int64_t kAwaitLimitNs = 10'000'000'000;
constexpr int kPollsPerCheck = 1 << 14;

}  // namespace

MappedBytes::~MappedBytes() {
  if (host_ != nullptr) driver_.host_free(host_);
}

Expected<void> MappedBytes::open(std::size_t bytes) {
  if (const Result r = driver_.host_allocate(&host_, bytes, kHostMapped); r != kSuccess) {
    host_ = nullptr;
    return failure(error_of(driver_, "cuMemHostAlloc", r));
  }
  if (const Result r = driver_.host_pointer(&device_, host_, 0); r != kSuccess) {
    return failure(error_of(driver_, "cuMemHostGetDevicePointer", r));
  }
  return {};
}

Expected<void> await_word(const Driver& driver, const std::function<bool()>& is_there) {
  const std::int64_t start_ns = clock_ns();
  for (int polls = 1; !is_there(); ++polls) {
    if (polls % kPollsPerCheck != 0) continue;
    // A context that has broken writes nothing; only the driver reports that.
    if (const Result r = driver.stream_query(nullptr); r != kSuccess && r != kNotReady)
      return failure(error_of(driver, "cuStreamQuery", r));
    if (clock_ns() - start_ns > kAwaitLimitNs) return our_fault("the GPU did not run the judge's own work within 10 s");
  }
  return {};
}

Expected<void> await_number(const Driver& driver, std::uint32_t& word, std::uint32_t number) {
  return await_word(driver, [&] { return std::atomic_ref(word).load(std::memory_order_acquire) == number; });
}

}  // namespace kq::judge::cuda
