#include "gpu_worker/judge/timing/timed_interval.h"

#include <algorithm>
#include <cmath>

namespace kq::judge {

void begin_staging(Child& child, const Order& order) {
  child.begin({.command = order.slots.empty() ? channel::Command::stage : channel::Command::stage_burst,
               .limit_ms = order.limit_ms});
}

Expected<Outcome> stage(Child& child, const Order& order) {
  begin_staging(child, order);
  return child.finish();
}

Expected<Outcome> time_command(Device& device, Child& child, const Order& order, const IntervalHooks& hooks) {
  KQ_TRY(device.begin_hold());
  const auto prepared = hooks.prepare ? hooks.prepare() : Expected<void>();
  if (!prepared) {
    device.release();
    return failure(prepared.error());
  }
  KQ_TRY(device.hold());

  bool is_probed = false;
  auto outcome = child.command(order, {.launch_ns = device.launch_ns(kLaunchNs),
                                       .at_start = [&] { device.release(); },
                                       .at_done =
                                           [&] {
                                             is_probed = true;
                                             return device.probe();
                                           }});
  if (!is_probed) return outcome;
  const auto* answered = outcome ? std::get_if<Answered>(&*outcome) : nullptr;
  const auto taken = answered != nullptr && answered->ok && hooks.take ? hooks.take(*answered) : Expected<void>();
  const auto settled = device.settle();
  if (!taken) return failure(taken.error());
  if (!settled) return failure(settled.error());
  return outcome;
}

std::int64_t sample_ns(std::int64_t interval_ns, double overhead_ns) {
  return std::max<std::int64_t>(1, interval_ns - std::llround(overhead_ns));
}

}  // namespace kq::judge
