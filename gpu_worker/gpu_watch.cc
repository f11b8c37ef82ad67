#include "gpu_worker/gpu_watch.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "net/clock.h"

namespace kq {
namespace {

constexpr std::uint64_t kSlackBytes = 256ull << 20;  // of the driver's own
constexpr std::chrono::milliseconds kLook{20};

// Graphics engine exception, MMU fault, corrupted push buffer, stopped processing, cleanup after an error, decoder and engine class errors,
// and an error of memory that was contained to one program.
constexpr std::uint64_t kOfPrograms[] = {13, 31, 32, 43, 45, 68, 69, 94};

}  // namespace

bool ends_with_its_program(std::uint64_t xid) { return std::find(std::begin(kOfPrograms), std::end(kOfPrograms), xid) != std::end(kOfPrograms); }

Cleanliness::Cleanliness(std::unique_ptr<GpuWatch> watch) : watch_(std::move(watch)) {
  if (!watch_) return;
  ownerless_at_first_ = watch_->ownerless_bytes();
  (void)watch_->errors();
}

std::optional<std::string> Cleanliness::complaint(std::int64_t limit_ms) {
  if (!watch_) return std::nullopt;
  for (const std::uint64_t xid : watch_->errors()) {
    if (!ends_with_its_program(xid)) return "the driver reports Xid " + std::to_string(xid);
  }
  if (!ownerless_at_first_) return std::nullopt;
  const std::int64_t deadline_ms = monotonic_now_ms() + limit_ms;
  for (;;) {
    const auto now = watch_->ownerless_bytes();
    if (!now || *now <= *ownerless_at_first_ + kSlackBytes) return std::nullopt;
    if (monotonic_now_ms() >= deadline_ms) {
      return std::to_string((*now - *ownerless_at_first_) >> 20) + " MiB of its memory did not come back within " + std::to_string(limit_ms / 1000) + " s";
    }
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace kq
