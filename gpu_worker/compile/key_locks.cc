#include "gpu_worker/compile/key_locks.h"

#include <algorithm>
#include <chrono>

#include "gpu_worker/compile/child.h"
#include "sys/clock.h"

namespace kq::worker {

std::optional<Expected<Verdict>> BuildTime::over() const {
  if (stop.stop_requested()) return our_fault("stopped");
  if (sys::monotonic_now_ms() >= end_ms) return build_timed_out(limit_ms);
  return std::nullopt;
}

KeyLocks::Hold::Hold(KeyLocks& locks, Hash key, const BuildTime& time) : locks_(locks), key_(key) {
  std::unique_lock lock(locks_.mutex_);
  const auto left = std::chrono::milliseconds(std::max<std::int64_t>(time.end_ms - sys::monotonic_now_ms(), 0));
  is_held_ = locks_.changed_.wait_for(lock, time.stop, left, [&] { return !locks_.locked_.contains(key_); });
  if (is_held_) locks_.locked_.insert(key_);
}

KeyLocks::Hold::Hold(KeyLocks& locks, Hash key, std::try_to_lock_t) : locks_(locks), key_(key) {
  const std::lock_guard lock(locks_.mutex_);
  is_held_ = locks_.locked_.insert(key_).second;
}

KeyLocks::Hold::~Hold() {
  if (!is_held_) return;
  {
    const std::lock_guard lock(locks_.mutex_);
    locks_.locked_.erase(key_);
  }
  locks_.changed_.notify_all();
}

}  // namespace kq::worker
