#include "gpu_worker/judge/timing/timed_interval.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace kq::judge {

void begin_staging(Child& child, const CommandRequest& request) {
  child.begin({.command = request.slots.empty() ? channel::Command::stage : channel::Command::stage_burst,
               .limit_ms = request.limit_ms});
}

Expected<Outcome> stage(Child& child, const CommandRequest& request) {
  begin_staging(child, request);
  return child.finish();
}

Expected<Outcome> time_command(Device& device, Child& child, const CommandRequest& request,
                               const IntervalHooks& hooks) {
  KQ_TRY_VALUE(auto queue, device.open_queue());
  if (hooks.prepare) {
    KQ_TRY(hooks.prepare());
  }
  KQ_TRY_VALUE(auto spin, std::move(queue).start_spin());

  std::optional<Probe> probe;
  auto outcome = child.command(request, {.launch_ns = device.launch_ns(kLaunchNs),
                                         .at_start = [&] { spin.stop(); },
                                         .at_done = [&] { return probe.emplace(device.probe()).result(); }});
  if (!probe) return outcome;
  const auto* answered = outcome ? std::get_if<Answered>(&*outcome) : nullptr;
  const auto taken = answered != nullptr && answered->ok && hooks.take ? hooks.take(*answered) : Expected<void>();
  const auto settled = std::move(*probe).settle();
  if (!taken) return failure(taken.error());
  if (!settled) return failure(settled.error());
  return outcome;
}

std::int64_t sample_ns(std::int64_t interval_ns, double overhead_ns) {
  return std::max<std::int64_t>(1, interval_ns - std::llround(overhead_ns));
}

}  // namespace kq::judge
