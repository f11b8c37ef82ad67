#include "broker/waiting.h"

#include <algorithm>

namespace kq {
namespace {

// How many jobs will probably begin before the one at this place of its lane: its own lane's, as many of each other submitter of the same
// priority as fair shares allow, and all of higher priority. Priorities are taken at their word here: ageing may bring it forward.
std::uint64_t ahead_of(const Scheduler& scheduler, const LaneId& own, std::uint64_t position) {
  std::uint64_t ahead = position - 1;
  for (const auto& [id, entry] : scheduler.lanes()) {
    if (id.needs != own.needs || id == own || id.priority < own.priority) continue;
    ahead += id.priority > own.priority ? entry.lane.size() : std::min(entry.lane.size(), position);
  }
  return ahead;
}

}  // namespace

void explain_wait(const State& state, const JobRecord& record, JobStatus& status) {
  status.served = state.workers.serves(record.needs);
  if (record.not_before_ms != 0) {
    status.why = record.failures > 0 ? WaitReason::after_failure : WaitReason::not_before;
    status.until_ms = record.not_before_ms;
    return;
  }
  if (state.paused.contains("") || state.paused.contains(record.submitter)) {
    status.why = WaitReason::paused;
    return;
  }
  if (!status.served) {
    status.why = WaitReason::no_worker;
    return;
  }
  if (!state.workers.serves(record.needs, state.draining)) {
    status.why = WaitReason::draining;
    return;
  }
  status.why = WaitReason::behind;
  const auto needs = state.scheduler.classes.find(record.needs);
  const auto submitter = state.scheduler.submitters.find(record.submitter);
  if (!needs || !submitter) return;
  const LaneId id{.needs = *needs, .priority = record.priority, .submitter = *submitter};
  const Lane* lane = state.scheduler.find(id);
  if (lane == nullptr) return;
  status.position = lane->position(record.seq);
  status.ahead = ahead_of(state.scheduler, id, status.position);
}

}  // namespace kq
