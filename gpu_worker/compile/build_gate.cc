#include "gpu_worker/compile/build_gate.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "sys/clock.h"

namespace kq::worker {

BuildGate::Pass::Pass(BuildGate& gate, Kind kind, const BuildTime& time) : gate_(gate), kind_(kind) {
  std::unique_lock lock(gate_.mutex_);
  const auto left = std::chrono::milliseconds(std::max<std::int64_t>(time.end_ms - sys::monotonic_now_ms(), 0));
  const bool wants_alone = kind == Kind::alone;
  if (wants_alone) ++gate_.waiting_alone_;
  is_held_ = gate_.changed_.wait_for(lock, time.stop, left, [&] {
    return wants_alone ? gate_.together_ == 0 && !gate_.is_alone_ : gate_.waiting_alone_ == 0 && !gate_.is_alone_;
  });
  if (wants_alone) --gate_.waiting_alone_;
  if (is_held_ && wants_alone) gate_.is_alone_ = true;
  if (is_held_ && !wants_alone) ++gate_.together_;
  if (!is_held_) gate_.changed_.notify_all();
}

BuildGate::Pass::~Pass() {
  if (!is_held_) return;
  {
    const std::lock_guard lock(gate_.mutex_);
    if (kind_ == Kind::alone) gate_.is_alone_ = false;
    if (kind_ == Kind::together) --gate_.together_;
  }
  gate_.changed_.notify_all();
}

}  // namespace kq::worker
