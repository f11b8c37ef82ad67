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

constexpr std::uint64_t kHoldLimitNs =
    1'000'000'000;                           // of a hold that nobody releases: a thousand times the longest honest one
constexpr std::int64_t kWaitMinNs = 20'000;  // of the random wait before `go`
constexpr std::uint64_t kWaitSpreadNs = 80'000;
constexpr std::uint64_t kCopiedPerNs = 500;  // bytes: a sixth of what an H200 copies at; slower than that is no copying
constexpr std::int64_t kCopyNs = 3'000;      // and for each, however small: 1.5 to 2 us there
constexpr std::uint64_t kSliceBytes = 512u << 20;  // copied in far less than a slice
constexpr std::uint64_t kFlushPerL2 = 2;           // bytes written per byte of cache: nothing older stays
constexpr int kQuickLooks = 9;                     // holds whose median tells whether the memory is quick: 2 ms
constexpr auto kQuickPause = std::chrono::milliseconds(5);
constexpr std::uint64_t kFlushBytesMin = 8u << 20;

std::int64_t random_wait_ns() {
  std::uint64_t bits = 0;
  KQ_CHECK(::getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return kWaitMinNs + static_cast<std::int64_t>(bits % kWaitSpreadNs);
}

}  // namespace

Hold::~Hold() {
  if (flush_ != 0) driver_.free(flush_);
}

Expected<void> Hold::open(std::uint64_t l2_bytes) {
  if (const auto opened = shared_.open(); !opened) return opened;
  flush_bytes_ = std::max(kFlushPerL2 * l2_bytes, kFlushBytesMin) / 4 * 4;
  if (const Result r = driver_.allocate(&flush_, flush_bytes_); r != kSuccess) {
    flush_ = 0;
    return failure(error_of(driver_, "cuMemAlloc of the buffer that empties the cache", r));
  }
  return cycle();
}

Expected<void> Hold::cycle() {
  return begin()
      .and_then([this] { return hold(); })
      .and_then([this]() -> Expected<void> {
        release();
        return probe();
      })
      .and_then([this] { return settle(); });
}

Expected<void> Hold::await_quick_memory(std::int64_t limit_ns) {
  const std::int64_t end_ns = clock_ns() + limit_ns;
  for (;;) {
    std::array<double, kQuickLooks> looks{};
    for (double& look : looks) {
      if (const auto gone = cycle(); !gone) return gone;
      look = memory_slowness();
    }
    std::nth_element(looks.begin(), looks.begin() + kQuickLooks / 2, looks.end());
    if (looks[kQuickLooks / 2] <= kSlowMemoryRatio || clock_ns() >= end_ns) return {};
    std::this_thread::sleep_for(kQuickPause);
  }
}

// In two halves, of which the second finds a cache full of what the first has written, whatever was there before: its
// time is the memory's.
Expected<void> Hold::empty_cache() {
  const std::uint64_t words = flush_bytes_ / 4;
  if (const Result r = driver_.fill_words(flush_, number_, words / 2); r != kSuccess)
    return failure(error_of(driver_, "cuMemsetD32 of the cache", r));
  if (const auto stamped = kernels_.stamp(shared_.device(offsetof(Shared, emptied_ns))); !stamped) return stamped;
  const Result r = driver_.fill_words(flush_ + words / 2 * 4, number_, words - words / 2);
  return r == kSuccess ? Expected<void>() : failure(error_of(driver_, "cuMemsetD32 of the cache", r));
}

Expected<void> Hold::begin() {
  // Lines that a call has made persist would survive the flush.
  if (const Result r = driver_.reset_persisting(); r != kSuccess)
    return failure(error_of(driver_, "cuCtxResetPersistingL2Cache", r));
  ++number_;
  is_begun_ = true;
  copied_bytes_ = 0;
  copies_ = 0;
  const std::int64_t start_ns = clock_ns();
  const auto begun = kernels_.hold(shared_.device(offsetof(Shared, gate)), number_, kHoldLimitNs).and_then([this] {
    return wait_for(shared_->gate.running);
  });
  begin_wait_ns_ = clock_ns() - start_ns;
  return begun;
}

Expected<void> Hold::hold() {
  is_begun_ = false;
  auto queued = kernels_.stamp(shared_.device(offsetof(Shared, before_ns))).and_then([this] { return empty_cache(); });
  // Who has had the GPU for a slice loses it as soon as somebody else wants it, which is while the child launches, and
  // for a slice of the call's. Who had nothing more to do for a moment begins another.
  const bool is_long = is_long_ = copied_bytes_ > kSliceBytes;
  is_held_ = true;
  if (is_long) std::atomic_ref(shared_->gate.released).store(number_, std::memory_order_release);
  if (is_long && queued) {
    if (const Result r = driver_.synchronize(); r != kSuccess)
      queued = failure(error_of(driver_, "cuCtxSynchronize", r));
  }
  if (queued) queued = kernels_.hold(shared_.device(offsetof(Shared, holder)), number_, kHoldLimitNs);
  std::atomic_ref(shared_->gate.released).store(number_, std::memory_order_release);
  if (!queued) return queued;
  if (const auto begun = wait_for(shared_->holder.running); !begun) return begun;
  const std::int64_t until_ns = clock_ns() + random_wait_ns();
  while (clock_ns() < until_ns) {
  }
  return {};
}

void Hold::release() {
  is_begun_ = false;
  std::atomic_ref(shared_->holder.released).store(number_, std::memory_order_release);
  std::atomic_ref(shared_->gate.released).store(number_, std::memory_order_release);
}

Expected<void> Hold::probe() {
  ++number_;
  is_begun_ = true;
  copied_bytes_ = 0;
  copies_ = 0;
  return kernels_.probe(shared_.device(offsetof(Shared, probed)), number_)
      .and_then([this] { return kernels_.hold(shared_.device(offsetof(Shared, gate)), number_, kHoldLimitNs); })
      .and_then([this] { return wait_for(shared_->probed); });
}

Expected<void> Hold::settle() {
  is_begun_ = false;
  std::atomic_ref(shared_->after_ns).store(0, std::memory_order_relaxed);
  const auto stamped = kernels_.stamp(shared_.device(offsetof(Shared, after_ns)));
  std::atomic_ref(shared_->gate.released).store(number_, std::memory_order_release);
  if (!stamped) return stamped;
  // All that was queued before the stamp is done where the stamp is.
  const auto is_stamped = [this] { return std::atomic_ref(shared_->after_ns).load(std::memory_order_acquire) != 0; };
  if (const auto settled = await_word(driver_, is_stamped); !settled) return settled;
  const auto& holder = static_cast<const volatile Shared*>(shared_.get())->holder;
  const auto& gate = static_cast<const volatile Shared*>(shared_.get())->gate;
  const auto since = [](std::uint64_t from_ns, std::uint64_t to_ns) {
    return static_cast<std::int64_t>(to_ns - from_ns);
  };
  gap_before_ns_ =
      begin_wait_ns_ + since(shared_->before_ns, holder.began_ns) + static_cast<std::int64_t>(holder.gap_ns);
  if (std::exchange(is_held_, false)) memory_speed_.add(is_long_ ? 0 : since(shared_->emptied_ns, holder.began_ns));
  const std::int64_t copying_ns = since(gate.ended_ns, shared_->after_ns) -
                                  static_cast<std::int64_t>(copied_bytes_ / kCopiedPerNs) - copies_ * kCopyNs;
  gap_after_ns_ = static_cast<std::int64_t>(gate.gap_ns) + std::max<std::int64_t>(copying_ns, 0);
  return {};
}

std::int64_t Hold::occupancy_gap_ns() const {
  return gap_before_ns_ + gap_after_ns_;
}

}  // namespace kq::judge::cuda
