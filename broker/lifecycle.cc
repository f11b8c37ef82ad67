#include "broker/lifecycle.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/codec.h"
#include "core/limits.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq {
namespace {

std::string text_of(const Job& job) {
  return "job " + std::to_string(job.record.seq);
}

std::string text_of_attempt(const Job& job) {
  return text_of(job) + ", attempt " + std::to_string(job.record.attempt);
}

void write_record(Step& step, const Job& job) {
  step.ready.write(Family::state, sequence_key(job.record.seq), encode(job.record));
}

// Takes the job away from whoever has it: its lane or the session that holds its lease.
void release(Step& step, Job& job) {
  if (job.record.state == JobState::queued) step.state.scheduler.remove(job.lane, job.record.seq);
  if (job.tenure) orphan(step, job);
}

// A worker on which attempts fail gets nothing for a while, longer each time: other workers may do better with the same
// jobs.
void let_rest(Step& step, SessionId holder) {
  Session* session = step.state.workers.find(holder);
  if (session == nullptr) return;
  const BrokerOptions& options = step.state.options;
  std::int64_t rest_ms = options.rest_ms_min;
  for (std::uint32_t i = 0; i < session->failures_n && rest_ms < options.rest_ms_max; ++i) rest_ms *= 2;
  session->failures_n += 1;
  session->rests_until_ms = step.now_ms + std::min<std::int64_t>(rest_ms, options.rest_ms_max);
}

void requeue(Step& step, Job& job) {
  release(step, job);
  step.state.jobs.requeue(job);
  step.state.scheduler.add(job.lane, job.record.seq, job.problem);
  write_record(step, job);
}

// The holder of the board's place as this turn will leave it.
Expected<std::optional<LeaderboardRow>> board_holder(const State& state, const std::string& key) {
  if (const auto place = state.new_best.find(key); place != state.new_best.end()) return place->second;
  auto bytes = state.store->get(Family::board, key);
  if (!bytes) return failure(std::move(bytes.error()));
  if (!*bytes) return std::nullopt;
  auto row = decode<LeaderboardRow>(**bytes);
  if (!row) return our_fault("store, family 'board': " + row.error().message);
  return std::optional<LeaderboardRow>(std::move(*row));
}

Expected<void> enter_board(Step& step, const Job& job, const Result& result) {
  if (!row_of(name_of(result.verdict)).ranks) return {};
  const auto body = read_body(*step.state.store, job.record.seq);
  if (!body) return failure(body.error());
  if (!*body) return our_fault("store, family 'body': " + text_of(job) + " has none");
  auto row = board_row(**body, result, job.record.seq, job.record.finished_at_ms);
  if (!row) return {};
  const std::string key = board_key(row->problem_hash, row->device_model);
  const auto holder = board_holder(step.state, key);
  if (!holder) return failure(holder.error());
  if (*holder && !is_better(*row, **holder)) return {};
  step.ready.write(Family::board, key, encode(*row));
  step.state.new_best.insert_or_assign(key, std::move(*row));
  return {};
}

}  // namespace

void enqueue(Step& step, Job job) {
  KQ_CHECK(job.record.state == JobState::queued);
  step.state.scheduler.add(job.lane, job.record.seq, job.problem);
  write_record(step, job);
  if (Job* ended = step.state.jobs.find(job.record.seq)) {  // in this very turn
    step.state.jobs.revive(*ended);
    *ended = std::move(job);
  } else {
    step.state.jobs.insert(std::move(job));
  }
}

void lease_out(Step& step, Job& job, Session& session, const DeviceInfo& device) {
  release(step, job);
  job.record.attempt += 1;
  job.record.leased_at_ms = step.now_ms;
  step.state.jobs.lease(job, {.holder = session.id,
                              .worker = session.worker,
                              .device = device,
                              .deadline_ms = step.now_ms + step.state.options.lease_ms});
  session.leases.insert(job.record.seq);
  session.warm_problem = job.problem;
  write_record(step, job);
  step.ready.note(NoteLevel::debug, text_of_attempt(job) + ": leased to " + session.worker);
}

void hold(Step& step, Job& job, Session& session) {
  KQ_CHECK(job.tenure.has_value());
  if (job.tenure->holder != session.id) {
    orphan(step, job);
    session.leases.insert(job.record.seq);
    job.tenure->holder = session.id;
    job.tenure->worker = session.worker;
    step.ready.note(NoteLevel::info, text_of_attempt(job) + ": taken up by " + session.worker);
  }
  job.tenure->counts = true;
  job.tenure->heartbeats_missed = 0;
  step.state.jobs.renew(job, step.now_ms + step.state.options.lease_ms);
}

void orphan(Step& step, Job& job) {
  KQ_CHECK(job.tenure.has_value());
  if (Session* session = step.state.workers.find(job.tenure->holder)) session->leases.erase(job.record.seq);
  job.tenure->holder = kNobody;
}

void put_back(Step& step, Job& job, const std::string& why) {
  step.ready.note(NoteLevel::info, text_of_attempt(job) + ": queued again, " + why);
  requeue(step, job);
}

Expected<void> fail(Step& step, Job& job, const std::string& message) {
  job.record.failures += 1;
  job.record.last_error = message.substr(0, kMessageTextMax);
  if (job.tenure) let_rest(step, job.tenure->holder);
  step.ready.note(NoteLevel::warning, text_of_attempt(job) + ": failure " + std::to_string(job.record.failures) + ", " +
                                          job.record.last_error);
  if (job.record.failures >= step.state.options.attempts_max) return abandon(step, job, job.record.last_error);
  requeue(step, job);
  return {};
}

Expected<void> abandon(Step& step, Job& job, const std::string& message) {
  Result result;
  Evidence evidence;
  evidence.stage = Stage::queue;
  evidence.reason = std::to_string(job.record.attempt) + " attempts";
  evidence.message = message;
  evidence.hint = "not the submission's fault: submit it again to retry";
  result.verdict = ended(VerdictName::abandoned, std::move(evidence));
  if (job.tenure) {
    result.device = job.tenure->device;
    result.worker = job.tenure->worker;
  }
  step.ready.note(NoteLevel::warning, text_of_attempt(job) + ": abandoned, " + message);
  return finish(step, job, std::move(result));
}

Expected<void> finish(Step& step, Job& job, Result result) {
  const Sequence seq = job.record.seq;
  const VerdictName verdict = name_of(result.verdict);
  release(step, job);
  step.state.jobs.finish(job, {.verdict = verdict, .device_memory_bytes = result.device.memory_bytes});
  job.record.finished_at_ms = step.now_ms;
  if (auto entered = enter_board(step, job, result); !entered) return entered;
  write_record(step, job);
  step.ready.write(Family::samples, sequence_key(seq), encode(std::exchange(result.samples, {})));
  step.ready.write(Family::result, sequence_key(seq), encode(result));
  step.ready.note(NoteLevel::debug, text_of_attempt(job) + ": " + std::string(to_string(verdict)));
  return {};
}

Job* current(State& state, const LeaseId& lease) {
  Job* job = state.jobs.find(lease.seq);
  if (job == nullptr || job->record.state != JobState::leased || job->record.attempt != lease.attempt) return nullptr;
  return job;
}

}  // namespace kq
