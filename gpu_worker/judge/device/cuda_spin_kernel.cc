#include "gpu_worker/judge/device/cuda_spin_kernel.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>

#include "core/base/check.h"
#include "gpu_worker/judge/device/clock.h"

namespace kq::judge::cuda {
namespace {

// A spin that the host never stops ends by itself after a thousand times the longest time that the judge needs.
constexpr std::uint64_t kSpinLimitNs = 1'000'000'000;
// The random wait between the start of the spin and `go`.
constexpr std::int64_t kWaitMinNs = 20'000;
constexpr std::uint64_t kWaitSpreadNs = 80'000;
// The time that copies may take without counting as an occupancy gap: bytes per nanosecond, a sixth of the rate of an
// H200, and a fixed time for each copy, where an H200 takes 1.5 to 2 us.
constexpr std::uint64_t kCopiedPerNs = 500;
constexpr std::int64_t kCopyNs = 3'000;
// The bytes that are copied in far less than a time slice.
constexpr std::uint64_t kSliceBytes = 512u << 20;
// Bytes written per byte of the cache, so that no older line stays in it.
constexpr std::uint64_t kFlushPerL2 = 2;
constexpr std::uint64_t kFlushBytesMin = 8u << 20;
// The number of sequences whose median decides whether the memory is fast again. They take 2 ms.
constexpr int kQuickCycles = 9;
constexpr auto kQuickPause = std::chrono::milliseconds(5);

std::int64_t random_wait_ns() {
  std::uint64_t bits = 0;
  KQ_CHECK(::getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return kWaitMinNs + static_cast<std::int64_t>(bits % kWaitSpreadNs);
}

}  // namespace

SpinKernel::~SpinKernel() {
  if (flush_ != 0) driver_.free(flush_);
}

Expected<void> SpinKernel::open(std::uint64_t l2_bytes) {
  if (const auto opened = shared_.open(); !opened) return opened;
  flush_bytes_ = std::max(kFlushPerL2 * l2_bytes, kFlushBytesMin) / 4 * 4;
  if (const Result r = driver_.allocate(&flush_, flush_bytes_); r != kSuccess) {
    flush_ = 0;
    return failure(error_of(driver_, "cuMemAlloc of the buffer that flushes the cache", r));
  }
  return run_once();
}

Expected<void> SpinKernel::run_once() {
  return close_gate()
      .and_then([this] { return start_spin(); })
      .and_then([this]() -> Expected<void> {
        stop_spin();
        return probe();
      })
      .and_then([this] { return settle(); });
}

Expected<void> SpinKernel::await_quick_memory(std::int64_t limit_ns) {
  const std::int64_t end_ns = clock_ns() + limit_ns;
  for (;;) {
    std::array<double, kQuickCycles> slowness{};
    for (double& one : slowness) {
      KQ_TRY(run_once());
      one = memory_slowness();
    }
    std::nth_element(slowness.begin(), slowness.begin() + kQuickCycles / 2, slowness.end());
    if (slowness[kQuickCycles / 2] <= kSlowMemoryRatio || clock_ns() >= end_ns) return {};
    std::this_thread::sleep_for(kQuickPause);
  }
}

// Writes the flush buffer in two halves. The second half finds the cache full of lines that the first half has written,
// whatever was in it before, so the time of the second half is the speed of the memory.
Expected<void> SpinKernel::flush_cache() {
  const std::uint64_t words = flush_bytes_ / 4;
  if (const Result r = driver_.fill_words(flush_, number_, words / 2); r != kSuccess)
    return failure(error_of(driver_, "cuMemsetD32 of the cache", r));
  if (const auto stamped = kernels_.stamp(shared_.device(offsetof(Shared, flushed_ns))); !stamped) return stamped;
  const Result r = driver_.fill_words(flush_ + words / 2 * 4, number_, words - words / 2);
  return r == kSuccess ? Expected<void>() : failure(error_of(driver_, "cuMemsetD32 of the cache", r));
}

Expected<void> SpinKernel::close_gate() {
  // Cache lines that a call has marked as persisting would survive the flush.
  if (const Result r = driver_.reset_persisting(); r != kSuccess)
    return failure(error_of(driver_, "cuCtxResetPersistingL2Cache", r));
  ++number_;
  is_gate_closed_ = true;
  copied_bytes_ = 0;
  copies_ = 0;
  const std::int64_t start_ns = clock_ns();
  const auto begun = kernels_.spin(shared_.device(offsetof(Shared, gate)), number_, kSpinLimitNs).and_then([this] {
    return wait_for(shared_->gate.running);
  });
  gate_wait_ns_ = clock_ns() - start_ns;
  return begun;
}

Expected<void> SpinKernel::start_spin() {
  is_gate_closed_ = false;
  auto queued = kernels_.stamp(shared_.device(offsetof(Shared, before_ns))).and_then([this] { return flush_cache(); });
  // A context whose time slice is over loses the GPU as soon as another context has work. After a long copy that would
  // be while the child launches, and in the timed interval. A context that has had no work for a moment begins a new
  // slice, so the gate opens first and the host waits for the copies.
  const bool is_long = is_long_ = copied_bytes_ > kSliceBytes;
  has_spun_ = true;
  if (is_long) std::atomic_ref(shared_->gate.stop).store(number_, std::memory_order_release);
  if (is_long && queued) {
    if (const Result r = driver_.synchronize(); r != kSuccess)
      queued = failure(error_of(driver_, "cuCtxSynchronize", r));
  }
  if (queued) queued = kernels_.spin(shared_.device(offsetof(Shared, spin)), number_, kSpinLimitNs);
  std::atomic_ref(shared_->gate.stop).store(number_, std::memory_order_release);
  if (!queued) return queued;
  if (const auto begun = wait_for(shared_->spin.running); !begun) return begun;
  const std::int64_t until_ns = clock_ns() + random_wait_ns();
  while (clock_ns() < until_ns) {
  }
  return {};
}

void SpinKernel::stop_spin() {
  is_gate_closed_ = false;
  std::atomic_ref(shared_->spin.stop).store(number_, std::memory_order_release);
  std::atomic_ref(shared_->gate.stop).store(number_, std::memory_order_release);
}

Expected<void> SpinKernel::probe() {
  ++number_;
  is_gate_closed_ = true;
  copied_bytes_ = 0;
  copies_ = 0;
  return kernels_.probe(shared_.device(offsetof(Shared, probed)), number_)
      .and_then([this] { return kernels_.spin(shared_.device(offsetof(Shared, gate)), number_, kSpinLimitNs); })
      .and_then([this] { return wait_for(shared_->probed); });
}

Expected<void> SpinKernel::settle() {
  is_gate_closed_ = false;
  std::atomic_ref(shared_->after_ns).store(0, std::memory_order_relaxed);
  const auto stamped = kernels_.stamp(shared_.device(offsetof(Shared, after_ns)));
  std::atomic_ref(shared_->gate.stop).store(number_, std::memory_order_release);
  if (!stamped) return stamped;
  // All work that was queued before the stamp is complete when the stamp is visible.
  const auto is_stamped = [this] { return std::atomic_ref(shared_->after_ns).load(std::memory_order_acquire) != 0; };
  if (const auto settled = await_word(driver_, is_stamped); !settled) return settled;
  const auto& spin = static_cast<const volatile Shared*>(shared_.get())->spin;
  const auto& gate = static_cast<const volatile Shared*>(shared_.get())->gate;
  const auto since = [](std::uint64_t from_ns, std::uint64_t to_ns) {
    return static_cast<std::int64_t>(to_ns - from_ns);
  };
  gap_before_ns_ = gate_wait_ns_ + since(shared_->before_ns, spin.began_ns) + static_cast<std::int64_t>(spin.gap_ns);
  if (std::exchange(has_spun_, false)) memory_speed_.add(is_long_ ? 0 : since(shared_->flushed_ns, spin.began_ns));
  const std::int64_t copying_ns = since(gate.ended_ns, shared_->after_ns) -
                                  static_cast<std::int64_t>(copied_bytes_ / kCopiedPerNs) - copies_ * kCopyNs;
  gap_after_ns_ = static_cast<std::int64_t>(gate.gap_ns) + std::max<std::int64_t>(copying_ns, 0);
  return {};
}

std::int64_t SpinKernel::occupancy_gap_ns() const {
  return gap_before_ns_ + gap_after_ns_;
}

}  // namespace kq::judge::cuda
