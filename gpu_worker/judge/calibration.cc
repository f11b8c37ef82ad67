#include "gpu_worker/judge/calibration.h"

#include <algorithm>
#include <array>

#include "core/measurement.h"
#include "gpu_worker/judge/bracket.h"
#include "gpu_worker/judge/bystanders.h"

namespace kq::judge {

Step<Overhead> calibrate(Device& device, Child& child, const Doing& doing, std::uint64_t touch_bytes, std::int64_t limit_ms) {
  child.lay_touch(std::min(touch_bytes, kTouchBytesMax));
  std::array<std::int64_t, kNullCalls> brackets{};
  Overhead overhead;
  for (std::int64_t& bracket_ns : brackets) {
    const Order order{.command = channel::Command::null_call, .limit_ms = limit_ms};
    if (device.bystanders() != nullptr) device.bystanders()->wait();
    if (const auto staged = accept(stage(child, order, 0), doing); !staged) return tl::unexpected(staged.error());
    auto called = accept(bracket(device, child, order, {}), doing);
    if (!called) return tl::unexpected(called.error());
    bracket_ns = called->bracket_ns - called->event_ns;
    overhead.absence_ns = std::max(overhead.absence_ns, device.absence_ns());
  }
  overhead.median_ns = summarise(brackets).median_ns;
  return overhead;
}

Step<std::unique_ptr<Calibrator>> Calibrator::open(Device& device, Fd channel, Exits& exits, Waiting waiting) {
  auto child = Child::start(std::move(channel), ChildRole::calibrator, exits, waiting);
  if (!child) return stop(child.error());
  return std::unique_ptr<Calibrator>(new Calibrator(device, std::move(*child)));
}

Step<Overhead> Calibrator::calibrate(std::uint64_t touch_bytes, std::int64_t limit_ms) {
  const auto overhead = judge::calibrate(device_, *child_, {ChildRole::calibrator, Phase::setup, device_.info().kind}, touch_bytes, limit_ms);
  if (!overhead) return overhead;
  last_ = *overhead;
  last_touch_bytes_ = touch_bytes;
  last_ns_ = clock_ns();
  return overhead;
}

Step<Overhead> Calibrator::recall(std::uint64_t touch_bytes, std::int64_t limit_ms) {
  const bool is_fresh = last_ns_ && last_touch_bytes_ == touch_bytes && clock_ns() - *last_ns_ < kCalibrationAgeMaxNs;
  return is_fresh ? Step<Overhead>(last_) : calibrate(touch_bytes, limit_ms);
}

}  // namespace kq::judge
