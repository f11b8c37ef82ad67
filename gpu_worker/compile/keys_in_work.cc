#include "gpu_worker/compile/keys_in_work.h"

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

KeysInWork::Hold::Hold(KeysInWork& keys, Hash key, const BuildTime& time) : keys_(keys), key_(key) {
  std::unique_lock lock(keys_.mutex_);
  const auto left = std::chrono::milliseconds(std::max<std::int64_t>(time.end_ms - sys::monotonic_now_ms(), 0));
  is_held_ = keys_.changed_.wait_for(lock, time.stop, left, [&] { return !keys_.keys_.contains(key_); });
  if (is_held_) keys_.keys_.insert(key_);
}

KeysInWork::Hold::Hold(KeysInWork& keys, Hash key, std::try_to_lock_t) : keys_(keys), key_(key) {
  const std::lock_guard lock(keys_.mutex_);
  is_held_ = keys_.keys_.insert(key_).second;
}

KeysInWork::Hold::~Hold() {
  if (!is_held_) return;
  {
    const std::lock_guard lock(keys_.mutex_);
    keys_.keys_.erase(key_);
  }
  keys_.changed_.notify_all();
}

}  // namespace kq::worker
