#include "gpu_worker/judge/timing/steadiness.h"

#include <span>

#include "core/measurement.h"

namespace kq::judge {

bool Steadiness::is_steady() const {
  const std::span<const std::int64_t> all(intervals_ns_);
  if (all.size() < 2 * kSteadyCalls) return false;
  const double last_ns = summarise(all.last(kSteadyCalls)).median_ns;
  const double before_ns = summarise(all.last(2 * kSteadyCalls).first(kSteadyCalls)).median_ns;
  return last_ns >= (1 - kSteadyShare) * before_ns;
}

}  // namespace kq::judge
