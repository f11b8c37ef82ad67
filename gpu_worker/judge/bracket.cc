#include "gpu_worker/judge/bracket.h"

#include <algorithm>
#include <cmath>

namespace kq::judge {

Expected<Outcome> bracket(Device& device, Child& child, const Order& order, std::uint64_t seed,
                          const std::function<Expected<void>()>& prepare) {
  child.lay_seed(seed);
  auto staged = child.command({.command = channel::Command::stage, .limit_ms = order.limit_ms});
  if (!staged) return failure(staged.error());
  if (const auto* answered = std::get_if<Answered>(&*staged); answered == nullptr || !answered->ok) return staged;
  if (const auto prepared = prepare(); !prepared) return failure(prepared.error());
  return child.command(order, [&] { return device.probe(); });
}

std::int64_t sample_ns(std::int64_t bracket_ns, double overhead_ns) {
  return std::max<std::int64_t>(1, bracket_ns - std::llround(overhead_ns));
}

}  // namespace kq::judge
