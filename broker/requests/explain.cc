#include "broker/requests/explain.h"

#include <algorithm>

namespace kq::broker {
namespace {

bool may_take(const State& state, const Session& session, const Requirements& needs) {
  return session.serves(needs) && !state.draining.contains(session.worker);
}

}  // namespace

const Waits::Rivals& Waits::rivals_of(std::uint32_t needs, Priority priority) {
  const auto [place, is_new] = rivals_.try_emplace({needs, priority});
  Rivals& rivals = place->second;
  if (!is_new) return rivals;
  const Scheduler& scheduler = state_.scheduler;
  std::vector<const Session*> takers;
  for (const auto& [id, session] : state_.workers.all()) {
    if (may_take(state_, session, *scheduler.classes.name(needs))) takers.push_back(&session);
  }
  scheduler.classes.each([&](std::uint32_t number, const Requirements& other) {
    const bool is_rival = std::ranges::any_of(takers, [&](const Session* taker) { return taker->serves(other); });
    if (is_rival) rivals.classes.push_back(number);
  });
  for (const auto& [id, entry] : scheduler.lanes()) {
    if (!entry.listed || id.priority < priority || !std::ranges::binary_search(rivals.classes, id.needs))
      continue;  // not listed: paused
    if (id.priority > priority) {
      rivals.higher_n += entry.lane.size();
    } else {
      rivals.queued_n[id.submitter] += entry.lane.size();
    }
  }
  return rivals;
}

// How many jobs will probably begin before this one: its submitter's older ones, as many of each other submitter of the
// same priority as fair shares allow, and all of higher priority. Priorities are taken at their word here: ageing may
// bring it forward.
std::uint64_t Waits::ahead_of(const store::LaneId& own, Sequence seq) {
  const Rivals& rivals = rivals_of(own.needs, own.priority);
  std::uint64_t older = 0;
  for (const std::uint32_t needs : rivals.classes) {
    const Lane* lane = state_.scheduler.find({.needs = needs, .priority = own.priority, .submitter = own.submitter});
    if (lane != nullptr) older += lane->position(seq) - 1;
  }
  std::uint64_t ahead = rivals.higher_n + older;
  for (const auto& [submitter, queued_n] : rivals.queued_n) {
    if (submitter != own.submitter) ahead += std::min(queued_n, older + 1);
  }
  return ahead;
}

void Waits::explain(const JobRecord& record, JobStatus& status) {
  status.served = state_.workers.serves(record.needs);
  if (record.not_before_ms != 0) {
    status.why = record.failures > 0 ? WaitReason::after_failure : WaitReason::not_before;
    status.until_ms = record.not_before_ms;
    return;
  }
  if (state_.paused.contains("") || state_.paused.contains(record.submitter)) {
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
  const auto needs = state_.scheduler.classes.find(record.needs);
  const auto submitter = state_.scheduler.submitters.find(record.submitter);
  if (!needs || !submitter) return;
  const store::LaneId id{.needs = *needs, .priority = record.priority, .submitter = *submitter};
  const Lane* lane = state_.scheduler.find(id);
  if (lane == nullptr) return;
  status.position = lane->position(record.seq);
  status.ahead = ahead_of(id, record.seq);
}

}  // namespace kq::broker
