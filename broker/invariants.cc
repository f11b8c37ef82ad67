#include "broker/invariants.h"

namespace kq::broker {
namespace {

using Broken = std::optional<std::string>;

std::string text_of(const Job& job) {
  return "job " + std::to_string(job.record.seq);
}

Broken broken_in(const State& state, const Job& job) {
  const JobRecord& record = job.record;
  if (record.seq == 0 || record.seq >= state.next_sequence) return "its sequence is not below next_sequence";
  const auto named = state.jobs.keys().find(record.key);
  if (named == state.jobs.keys().end() || named->second != record.seq) return "its key does not lead to it";
  const Lane* lane = state.scheduler.find(job.lane);
  const bool stands = record.state == JobState::queued && record.not_before_ms == 0;
  if (stands && (lane == nullptr || !lane->may_hold(record.seq))) return "queued and not in its lane";
  if (!stands && lane != nullptr && record.seq < lane->window_end() && lane->may_hold(record.seq))
    return "in a lane and not queued";
  if (job.tenure.has_value() != (record.state == JobState::leased)) return "held and not leased, or the other way";
  if (job.ending.has_value() != (record.state == JobState::finished))
    return "with an ending and not finished, or the other way";
  if (record.state != JobState::finished && record.failures >= state.options.attempts_max)
    return "unfinished with all failures used up";
  if (!job.tenure) return std::nullopt;
  if (record.attempt == 0) return "leased without an attempt number";
  if (!state.jobs.deadlines().contains({job.tenure->deadline_ms, record.seq})) return "its lease never ends";
  if (job.tenure->holder == kNobody) return std::nullopt;
  const auto holder = state.workers.all().find(job.tenure->holder);
  if (holder == state.workers.all().end()) return "held by a session that is gone";
  if (!holder->second.leases.contains(record.seq)) return "its holder does not know";
  return std::nullopt;
}

Broken broken_in(const State& state, const Session& session) {
  for (const Sequence seq : session.leases) {
    const Job* job = state.jobs.find(seq);
    if (job == nullptr || !job->tenure || job->tenure->holder != session.id) {
      return "counts job " + std::to_string(seq) + ", which it does not hold";
    }
  }
  for (const Sequence seq : session.builds) {
    const auto going = state.builds.going.find(seq);
    if (going == state.builds.going.end() || going->second.holder != session.id)
      return "builds job " + std::to_string(seq) + ", and nobody knows";
  }
  return std::nullopt;
}

// Built are queued jobs; objects are of unfinished ones.
Broken broken_in(const State& state, const Builds& builds) {
  for (const auto& [seq, going] : builds.going) {
    const auto holder = state.workers.all().find(going.holder);
    if (holder == state.workers.all().end() || !holder->second.builds.contains(seq)) return "it is built by nobody";
    const Job* job = state.jobs.find(seq);
    if (job != nullptr && job->record.state != JobState::queued) return "it is built and not queued";
    if (builds.objects.contains(seq) || builds.declined.contains(seq)) return "it is built twice";
  }
  std::size_t bytes_n = 0;
  for (const auto& [seq, object] : builds.objects) {
    bytes_n += object.bytes_n;
    const Job* job = state.jobs.find(seq);
    if (job != nullptr && job->record.state == JobState::finished) return "it is finished and has an object";
  }
  if (bytes_n != builds.bytes_n || bytes_n > state.options.objects_bytes_max)
    return "the objects have other bytes than are counted, or too many";
  if (builds.objects.size() + builds.going.size() > state.options.objects_max) return "there are too many objects";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_invariant(const State& state) {
  std::size_t leased_n = 0;
  for (const auto& [seq, job] : state.jobs.all()) {
    if (const auto broken = broken_in(state, job)) return text_of(job) + ": " + *broken;
    leased_n += job.record.state == JobState::leased ? 1 : 0;
  }
  if (leased_n != state.jobs.leased_n()) return "the count of leased jobs is wrong";
  std::uint64_t queued_n = 0;
  for (const auto& [id, entry] : state.scheduler.lanes()) {
    if (entry.lane.empty()) return "an empty lane is kept";
    queued_n += entry.lane.size();
  }
  if (queued_n != state.scheduler.size()) return "the count of queued jobs is wrong";
  if (queued_n + state.timers.waiting_n + leased_n != state.accounts.all().jobs)
    return "the accounts count other jobs than there are";
  if (state.jobs.keys().size() != state.jobs.all().size()) return "a key leads to no job";
  for (const auto& [id, session] : state.workers.all()) {
    if (const auto broken = broken_in(state, session)) return "worker " + session.worker + ": " + *broken;
  }
  if (const auto broken = broken_in(state, state.builds)) return "builds: " + *broken;
  return std::nullopt;
}

}  // namespace kq::broker
