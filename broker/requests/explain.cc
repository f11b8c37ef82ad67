#include "broker/requests/explain.h"

#include <algorithm>

namespace kq::broker {
namespace {

bool may_take(const State& state, const Session& session, const Requirements& needs) {
  return session.serves(needs) && !state.switches.draining.contains(session.worker);
}

}  // namespace

bool may_be_taken(const State& state, const Requirements& needs) {
  return std::ranges::any_of(state.workers.all(),
                             [&](const auto& entry) { return may_take(state, entry.second, needs); });
}

const WaitExplainer::Competitors& WaitExplainer::competitors_of(std::uint32_t needs, Priority priority) {
  const auto [place, is_new] = competitors_.try_emplace({needs, priority});
  Competitors& competitors = place->second;
  if (!is_new) return competitors;
  const Scheduler& scheduler = state_.queue.scheduler();
  std::vector<const Session*> takers;
  for (const auto& [id, session] : state_.workers.all()) {
    if (may_take(state_, session, *scheduler.classes.name(needs))) takers.push_back(&session);
  }
  scheduler.classes.each([&](std::uint32_t number, const Requirements& other) {
    const bool competes = std::ranges::any_of(takers, [&](const Session* taker) { return taker->serves(other); });
    if (competes) competitors.classes.push_back(number);
  });
  for (const auto& [id, entry] : scheduler.lanes()) {
    if (!entry.listed || id.priority < priority || !std::ranges::binary_search(competitors.classes, id.needs))
      continue;  // a lane that is not listed is paused
    if (id.priority > priority) {
      competitors.higher_priority_count += entry.lane.size();
    } else {
      competitors.queued_counts[id.submitter] += entry.lane.size();
    }
  }
  return competitors;
}

// Returns how many jobs will probably begin before this one: the older jobs of its submitter, as many jobs of each
// other submitter of the same priority as fair shares allow, and all jobs of higher priority. Ageing is ignored, so the
// job may begin earlier.
std::uint64_t WaitExplainer::ahead_of(const store::LaneId& own, Sequence seq) {
  const Competitors& competitors = competitors_of(own.needs, own.priority);
  std::uint64_t older = 0;
  for (const std::uint32_t needs : competitors.classes) {
    const Lane* lane =
        state_.queue.scheduler().find({.needs = needs, .priority = own.priority, .submitter = own.submitter});
    if (lane != nullptr) older += lane->position(seq) - 1;
  }
  std::uint64_t ahead = competitors.higher_priority_count + older;
  for (const auto& [submitter, queued_count] : competitors.queued_counts) {
    if (submitter != own.submitter) ahead += std::min(queued_count, older + 1);
  }
  return ahead;
}

void WaitExplainer::explain(const JobRecord& record, JobStatus& status) {
  status.served = state_.workers.serves(record.needs);
  if (record.not_before_ms != 0) {
    status.why = record.failures > 0 ? WaitReason::after_failure : WaitReason::not_before;
    status.until_ms = record.not_before_ms;
    return;
  }
  if (state_.switches.paused.contains("") || state_.switches.paused.contains(record.submitter)) {
    status.why = WaitReason::paused;
    return;
  }
  if (!status.served) {
    status.why = WaitReason::no_worker;
    return;
  }
  const auto takes = [&](const auto& one) { return may_take(state_, one.second, record.needs); };
  if (std::ranges::none_of(state_.workers.all(), takes)) {
    status.why = WaitReason::draining;
    return;
  }
  status.why = WaitReason::behind;
  const auto needs = state_.queue.scheduler().classes.find(record.needs);
  const auto submitter = state_.queue.scheduler().submitters.find(record.submitter);
  if (!needs || !submitter) return;
  const store::LaneId id{.needs = *needs, .priority = record.priority, .submitter = *submitter};
  const Lane* lane = state_.queue.scheduler().find(id);
  if (lane == nullptr) return;
  status.position = lane->position(record.seq);
  status.ahead = ahead_of(id, record.seq);
}

}  // namespace kq::broker
