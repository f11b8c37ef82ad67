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
  const auto named = state.queue.jobs().keys().find(record.key);
  if (named == state.queue.jobs().keys().end() || named->second != record.seq) return "its key does not lead to it";
  const Lane* lane = state.queue.scheduler().find(job.lane);
  const bool in_lane = record.state == JobState::queued && record.not_before_ms == 0;
  if (in_lane && (lane == nullptr || !lane->may_hold(record.seq))) return "it is queued and not in its lane";
  if (!in_lane && lane != nullptr && record.seq < lane->window_end() && lane->may_hold(record.seq))
    return "it is in a lane and not queued";
  if (job.lease.has_value() != (record.state == JobState::leased))
    return "it has a lease and is not leased, or the other way";
  if (job.ending.has_value() != (record.state == JobState::finished))
    return "it has an ending and is not finished, or the other way";
  if (record.state != JobState::finished && record.failures >= state.options.attempts_max)
    return "it is unfinished and has no attempts left";
  if (!job.lease) return std::nullopt;
  if (record.attempt == 0) return "it is leased without an attempt number";
  if (!state.queue.jobs().deadlines().contains({job.lease->deadline_ms, record.seq}))
    return "its lease has no deadline in the table";
  if (job.lease->session_id == kNoSession) return std::nullopt;
  const auto session = state.workers.all().find(job.lease->session_id);
  if (session == state.workers.all().end()) return "its lease names a session that does not exist";
  if (!session->second.leases.contains(record.seq)) return "the session of its lease does not list it";
  return std::nullopt;
}

Broken broken_in(const State& state, const Session& session) {
  std::size_t slow_count = 0;
  for (const Sequence seq : session.leases) {
    const Job* job = state.queue.jobs().find(seq);
    if (job == nullptr || !job->lease || job->lease->session_id != session.id) {
      return "it lists job " + std::to_string(seq) + ", whose lease is not its own";
    }
    slow_count += is_slow_to_build(job->record.needs) ? 1 : 0;
  }
  if (session.free_credit() > 0 && !state.workers.may_have_free_credit(session))
    return "it has free credit and would get no job";
  if (slow_count != session.slow_lease_count) return "its count of leases that are slow to build is wrong";
  for (const Sequence seq : session.builds) {
    const auto build = state.builds.in_flight.find(seq);
    if (build == state.builds.in_flight.end() || build->second.session_id != session.id)
      return "it builds job " + std::to_string(seq) + ", which is not in flight";
  }
  for (const auto& [lease, build] : session.builds_in_progress) {
    if (!(lease.attempt == 0 ? session.builds : session.leases).contains(lease.seq))
      return "it has a build of job " + std::to_string(lease.seq) + " in progress, which is not its own";
  }
  return std::nullopt;
}

// Builds in flight are of queued jobs, and artifacts are of unfinished jobs.
Broken broken_in(const State& state, const Builds& builds) {
  for (const auto& [seq, build] : builds.in_flight) {
    const auto session = state.workers.all().find(build.session_id);
    if (session == state.workers.all().end() || !session->second.builds.contains(seq))
      return "job " + std::to_string(seq) + " is built by no session";
    const Job* job = state.queue.jobs().find(seq);
    if (job != nullptr && job->record.state != JobState::queued)
      return "job " + std::to_string(seq) + " is built and not queued";
    if (builds.artifacts.contains(seq) || builds.failed.contains(seq))
      return "job " + std::to_string(seq) + " is built twice";
  }
  std::size_t bytes = 0;
  for (const auto& [seq, artifact] : builds.artifacts) {
    bytes += artifact.bytes;
    const Job* job = state.queue.jobs().find(seq);
    if (job != nullptr && job->record.state == JobState::finished)
      return "job " + std::to_string(seq) + " is finished and has an artifact";
  }
  if (bytes != builds.artifact_bytes || bytes > state.options.artifacts_bytes_max)
    return "the counted bytes of the artifacts are wrong or too many";
  if (builds.artifacts.size() + builds.in_flight.size() > state.options.artifacts_max)
    return "there are too many artifacts";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> broken_invariant(const State& state) {
  std::size_t leased_count = 0;
  for (const auto& [seq, job] : state.queue.jobs().all()) {
    if (const auto broken = broken_in(state, job)) return text_of(job) + ": " + *broken;
    leased_count += job.record.state == JobState::leased ? 1 : 0;
  }
  if (leased_count != state.queue.jobs().leased_count()) return "the count of leased jobs is wrong";
  std::uint64_t queued_count = 0;
  for (const auto& [id, entry] : state.queue.scheduler().lanes()) {
    if (entry.lane.empty()) return "an empty lane is kept";
    queued_count += entry.lane.size();
  }
  if (queued_count != state.queue.scheduler().size()) return "the count of queued jobs is wrong";
  if (queued_count + state.queue.timers().waiting_count() + leased_count != state.queue.accounts().all().jobs)
    return "the accounts count a wrong number of jobs";
  if (state.queue.jobs().keys().size() != state.queue.jobs().all().size()) return "a key leads to no job";
  for (const auto& [id, session] : state.workers.all()) {
    if (const auto broken = broken_in(state, session)) return "worker " + session.worker + ": " + *broken;
  }
  if (const auto broken = broken_in(state, state.builds)) return "builds: " + *broken;
  return std::nullopt;
}

}  // namespace kq::broker
