#include "gpu_worker/judge/calibration.h"

#include <algorithm>
#include <vector>

#include "core/measurement.h"
#include "gpu_worker/judge/bracket.h"

namespace kq::judge {

Step<Overhead> calibrate(Device& device, Child& child, const Doing& doing, int calls, std::uint64_t touch_bytes, std::int64_t limit_ms) {
  child.lay_touch(std::min(touch_bytes, kTouchBytesMax));
  std::vector<std::int64_t> brackets(static_cast<std::size_t>(calls));
  Overhead overhead;
  for (std::int64_t& bracket_ns : brackets) {
    const Order order{.command = channel::Command::null_call, .limit_ms = limit_ms};
    auto called = accept(bracket(device, child, order, 0, {}), doing);
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
  return judge::calibrate(device_, *child_, {ChildRole::calibrator, Phase::setup, device_.info().kind}, kNullCallsBeside, touch_bytes, limit_ms);
}

}  // namespace kq::judge
