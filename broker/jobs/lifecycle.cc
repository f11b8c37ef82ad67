#include "broker/jobs/lifecycle.h"

#include <algorithm>
#include <utility>

#include "broker/jobs/result_bounds.h"
#include "broker/tables/builds.h"
#include "core/base/check.h"
#include "core/codec/codec.h"
#include "core/limits.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::broker {
namespace {

constexpr std::int64_t kNoteClassesMs = 10'000;  // between two notes of the same

std::string text_of(const Job& job) {
  return "job " + std::to_string(job.record.seq);
}

std::string text_of_attempt(const Job& job) {
  return text_of(job) + ", attempt " + std::to_string(job.record.attempt);
}

// Who has it, or had it last, for people.
std::string holder_of(const Job& job) {
  return job.tenure && !job.tenure->worker.empty() ? job.tenure->worker : "no known worker";
}

void write_record(Step& step, const Job& job) {
  step.ready.write(store::Family::state, store::sequence_key(job.record.seq), encode(job.record));
}

bool is_waiting(const JobRecord& record) {
  return record.state == JobState::queued && record.not_before_ms != 0;
}

store::TimerPlace may_run(const JobRecord& record) {
  return {.at_ms = record.not_before_ms, .kind = store::TimerKind::may_run, .seq = record.seq};
}
store::TimerPlace expires(const JobRecord& record) {
  return {.at_ms = record.deadline_ms, .kind = store::TimerKind::expires, .seq = record.seq};
}

Lane::Waiting waiting_of(const JobRecord& record) {
  const store::QueueEntry entry = entry_of(record);
  return {.seq = record.seq, .problem = entry.problem, .submitted_at_ms = entry.submitted_at_ms};
}

void write_entry(Step& step, const Job& job) {
  step.ready.write(store::Family::queue, store::queue_key(job.lane, job.record.seq),
                   store::queue_value(entry_of(job.record)));
}

// A queued job gets its place: in its lane, or among the timers until its time comes.
void stand(Step& step, Job& job) {
  if (is_waiting(job.record)) {
    set_timer(step, may_run(job.record), store::timer_value(job.lane, entry_of(job.record)));
  } else {
    step.state.scheduler.add(job.lane, waiting_of(job.record));
    write_entry(step, job);
  }
}

// Takes the job away from where it is: its lane, the timers, or the session that holds its lease. Its entry in the
// index stays where `keeps_entry`.
void release(Step& step, Job& job, bool keeps_entry) {
  if (is_waiting(job.record)) {
    clear_timer(step, may_run(job.record));
    return;
  }
  if (job.record.state == JobState::queued) step.state.scheduler.remove(job.lane, job.record.seq);
  if (job.tenure) orphan(step, job);
  if (!keeps_entry) step.ready.erase(store::Family::queue, store::queue_key(job.lane, job.record.seq));
}

// What no unfinished job has any more. Seldom: most names are used again and again.
template <class Name>
void drop_unused(Step& step, Numbering<Name>& names, std::string_view prefix, const auto& is_used) {
  std::vector<std::uint32_t> unused;
  names.each([&](std::uint32_t number, const Name&) {
    if (!is_used(number)) unused.push_back(number);
  });
  for (const std::uint32_t number : unused) {
    names.remove(number);
    step.ready.erase(store::Family::meta, store::numbered_key(prefix, number));
  }
  step.state.scheduler.forget_nameless();
}

template <class Name>
Expected<std::uint32_t> number_for(Step& step, Numbering<Name>& names, const Name& name, std::string_view prefix,
                                   std::size_t names_max, const std::string& bytes, const char* what,
                                   const auto& is_used) {
  if (const auto number = names.find(name)) return *number;
  if (names.size() >= names_max) drop_unused(step, names, prefix, is_used);
  if (names.size() >= names_max)
    return bad_input("unfinished jobs have " + std::to_string(names_max) + " different " + what + ", the limit");
  const std::uint32_t number = names.add(name);
  step.ready.write(store::Family::meta, store::numbered_key(prefix, number), bytes);
  return number;
}

// Whose jobs have the most different requirements, for whoever runs the broker: all others wait for that.
void note_most_classes(Step& step, const std::string& complaint) {
  if (step.now_ms < step.state.note_classes_ms) return;
  step.state.note_classes_ms = step.now_ms + kNoteClassesMs;
  const auto& accounts = step.state.accounts.by_submitter();
  const auto most = std::ranges::max_element(accounts, {}, [](const auto& one) { return one.second.classes; });
  if (most == accounts.end()) return;
  step.ready.note(NoteLevel::warning, complaint + ": submitter '" + *step.state.scheduler.submitters.name(most->first) +
                                          "' has most of them, " + std::to_string(most->second.classes));
}

// bad_input: there are too many different lanes, of all or of this submitter, until jobs of some of them have ended.
Expected<store::LaneId> lane_for(Step& step, const JobRecord& record) {
  Scheduler& scheduler = step.state.scheduler;
  const Accounts& accounts = step.state.accounts;
  const BrokerOptions& options = step.state.options;
  // Most jobs are like another of their submitter's.
  const auto known_needs = scheduler.classes.find(record.needs);
  const auto known_submitter = scheduler.submitters.find(record.submitter);
  if (known_needs && known_submitter && accounts.uses(*known_submitter, *known_needs)) {
    return store::LaneId{.needs = *known_needs, .priority = record.priority, .submitter = *known_submitter};
  }
  if (known_submitter && accounts.of(*known_submitter).classes >= options.submitter_classes_max) {
    return bad_input("submitter '" + record.submitter + "' has unfinished jobs with " +
                     std::to_string(options.submitter_classes_max) +
                     " different requirements, the limit of one submitter");
  }
  const auto needs =
      number_for(step, scheduler.classes, record.needs, store::kClassPrefix, options.classes_max, encode(record.needs),
                 "requirements", [&](std::uint32_t number) { return accounts.uses_needs(number); });
  if (!needs) {
    note_most_classes(step, needs.error().message);
    return failure(needs.error());
  }
  KQ_TRY_VALUE(const auto submitter, number_for(step, scheduler.submitters, record.submitter, store::kSubmitterPrefix,
                                                options.submitters_max, record.submitter, "submitters",
                                                [&](std::uint32_t number) { return accounts.uses_submitter(number); }));
  if (step.state.paused.contains(record.submitter) && !record.submitter.empty()) scheduler.pause(submitter, true);
  return store::LaneId{.needs = *needs, .priority = record.priority, .submitter = submitter};
}

// How long to wait after so many failures: twice as long each time.
std::int64_t backoff_ms(std::int64_t min_ms, std::int64_t max_ms, std::uint32_t failures) {
  std::int64_t ms = min_ms;
  for (std::uint32_t i = 1; i < failures && ms < max_ms; ++i) ms *= 2;
  return std::min(ms, max_ms);
}

// A worker on which attempts fail gets nothing for a while, longer each time: other workers may do better with the same
// jobs.
void let_rest(Step& step, SessionId holder) {
  Session* session = step.state.workers.find(holder);
  if (session == nullptr) return;
  const BrokerOptions& options = step.state.options;
  session->failures_n += 1;
  session->rests_until_ms = step.now_ms + backoff_ms(options.rest_ms_min, options.rest_ms_max, session->failures_n);
}

void requeue(Step& step, Job& job, std::int64_t not_before_ms) {
  release(step, job, not_before_ms == 0);
  step.state.jobs.requeue(job);
  job.record.not_before_ms = not_before_ms;
  stand(step, job);
  write_record(step, job);
}

// The record with what a later submission wishes beyond it.
JobRecord brought_on(JobRecord record, const Submission& again, std::int64_t now_ms) {
  record.priority = std::max(record.priority, again.priority);
  // What waits after a failure of ours waits for us, not for its submitter.
  if (record.failures == 0)
    record.not_before_ms = again.not_before_ms <= now_ms ? 0 : std::min(record.not_before_ms, again.not_before_ms);
  const bool is_due = record.deadline_ms != 0 && record.deadline_ms <= now_ms;  // its timer is about to end it
  if (!is_due && record.deadline_ms != 0)
    record.deadline_ms = again.deadline_ms == 0 ? 0 : std::max(record.deadline_ms, again.deadline_ms);
  return record;
}

Result without_run(VerdictName verdict, std::string reason, std::string message, std::string hint) {
  Evidence evidence;
  evidence.stage = Stage::queue;
  evidence.reason = std::move(reason);
  evidence.message = std::move(message);
  evidence.hint = std::move(hint);
  Result result;
  result.verdict = ended(verdict, std::move(evidence));
  return result;
}

// The time to beat for the board's place, as this turn will leave it; none where nobody holds it.
Expected<std::optional<double>> time_to_beat_ns(State& state, const std::string& key) {
  if (const auto place = state.board_ns.find(key); place != state.board_ns.end()) return place->second;
  KQ_TRY_VALUE(const auto bytes, state.store->get(store::Family::board, key));
  if (!bytes) return std::nullopt;
  const auto row = decode<LeaderboardRow>(*bytes);
  if (!row) return our_fault("store, family 'board': " + row.error().message);
  state.board_ns.emplace(key, row->median_ns);
  return row->median_ns;
}

Expected<void> enter_board(Step& step, Job& job, const Result& result) {
  if (!row_of(name_of(result.verdict)).ranks) return {};
  KQ_TRY_VALUE(const auto body, submission_of(step, job));
  if (body == nullptr) return our_fault("store, family 'body': " + text_of(job) + " has none");
  auto row = board_row(*body, result, job.record.seq, job.record.finished_at_ms);
  if (!row) return {};
  const std::string key = store::board_key(row->problem_hash, row->device_model);
  KQ_TRY_VALUE(const auto to_beat, time_to_beat_ns(step.state, key));
  if (to_beat && !is_better(*row, *to_beat)) return {};
  step.ready.write(store::Family::board, key, encode(*row));
  step.state.board_ns.insert_or_assign(key, row->median_ns);
  return {};
}

}  // namespace

store::QueueEntry entry_of(const JobRecord& record) {
  std::uint64_t problem = 0;
  for (std::size_t i = 0; i < sizeof problem; ++i)
    problem = problem << 8 | static_cast<unsigned char>(record.problem.bytes[i]);
  return {.problem = problem,
          .submitted_at_ms = record.submitted_at_ms,
          .bytes = record.bytes,
          .leased = record.state == JobState::leased};
}

Expected<const Submission*> submission_of(Step& step, Job& job) {
  if (!job.submission) {
    KQ_TRY_VALUE(auto body, store::read_body(*step.state.store, job.record.seq));
    if (!body) return nullptr;
    job.submission = std::make_shared<const Submission>(std::move(*body));
  }
  return job.submission.get();
}

Expected<Job*> load(Step& step, Sequence seq) {
  if (Job* job = step.state.jobs.find(seq)) return job->record.state == JobState::finished ? nullptr : job;
  KQ_TRY_VALUE(auto record, store::read_job(*step.state.store, seq));
  if (!record || record->state == JobState::finished) return nullptr;
  KQ_TRY_VALUE(const auto lane, lane_for(step, *record));
  return &step.state.jobs.insert({.record = std::move(*record), .lane = lane});
}

Expected<void> enqueue(Step& step, JobRecord record, std::shared_ptr<const Submission> submission) {
  KQ_CHECK(record.state == JobState::queued);
  if (record.not_before_ms <= step.now_ms) record.not_before_ms = 0;
  KQ_TRY_VALUE(const auto lane, lane_for(step, record));
  Job* job = step.state.jobs.find(record.seq);
  if (job != nullptr) {  // it ended in this very turn
    step.state.jobs.revive(*job);
    if (!submission)
      submission = std::move(job->submission);  // if it also came in this turn the store does not have it yet
    *job = {.record = std::move(record), .lane = lane};
  } else {
    job = &step.state.jobs.insert({.record = std::move(record), .lane = lane});
  }
  job->submission = std::move(submission);
  step.state.accounts.add(lane, job->record.bytes);
  if (job->record.deadline_ms != 0) set_timer(step, expires(job->record), "");
  stand(step, *job);
  write_record(step, *job);
  return {};
}

void lease_out(Step& step, Job& job, Session& session, std::size_t device) {
  release(step, job, true);
  stop_build(step, job.record.seq);
  job.record.attempt += 1;
  if (job.record.leased_at_ms == 0) step.state.metrics.first_leased(step.now_ms - job.record.submitted_at_ms);
  job.record.leased_at_ms = step.now_ms;
  step.state.jobs.lease(job, {.holder = session.id,
                              .worker = session.worker,
                              .device = session.devices[device],
                              .deadline_ms = step.now_ms + step.state.options.lease_ms});
  step.state.scheduler.charge(job.lane.submitter);
  session.leases.insert(job.record.seq);
  step.state.workers.warm(session, device, entry_of(job.record).problem);
  write_record(step, job);
  write_entry(step, job);
  if (step.state.options.notes_per_job)
    step.ready.note(NoteLevel::debug, text_of_attempt(job) + ": leased to " + session.worker);
}

void hold(Step& step, Job& job, Session& session) {
  KQ_CHECK(job.tenure.has_value());
  if (job.tenure->holder != session.id) {
    orphan(step, job);
    session.leases.insert(job.record.seq);
    job.tenure->holder = session.id;
    job.tenure->worker = session.worker;
    step.ready.note(NoteLevel::debug, text_of_attempt(job) + ": taken up by " + session.worker);
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
  step.ready.note(NoteLevel::debug, text_of_attempt(job) + ": queued again, " + why);
  requeue(step, job, 0);
}

Expected<void> fail(Step& step, Job& job, const std::string& message) {
  job.record.failures += 1;
  job.record.last_error = front_of(message, kMessageTextMax);
  if (job.tenure) let_rest(step, job.tenure->holder);
  step.ready.warn(
      "failures of " + holder_of(job),
      text_of_attempt(job) + ": failure " + std::to_string(job.record.failures) + ", " + job.record.last_error);
  step.state.metrics.failed();
  if (job.record.failures >= step.state.options.attempts_max) return abandon(step, job, job.record.last_error);
  const BrokerOptions& options = step.state.options;
  requeue(step, job, step.now_ms + backoff_ms(options.retry_ms_min, options.retry_ms_max, job.record.failures));
  return {};
}

Expected<void> abandon(Step& step, Job& job, const std::string& message) {
  Result result = without_run(VerdictName::abandoned, std::to_string(job.record.attempt) + " attempts", message,
                              "not the submission's fault: submit it again to retry");
  if (job.tenure) {
    result.device = job.tenure->device;
    result.worker = job.tenure->worker;
  }
  step.ready.warn("abandoned jobs of " + holder_of(job), text_of_attempt(job) + ": abandoned, " + message);
  step.ready.write(store::Family::dead, store::sequence_key(job.record.seq), "");
  return finish(step, job, std::move(result));
}

Expected<void> cancel(Step& step, Job& job, const std::string& by) {
  if (job.tenure) {
    if (const Session* holder = step.state.workers.find(job.tenure->holder)) {
      step.ready.send_to_worker(holder->peer, 0, Revoke{.leases = {{job.record.seq, job.record.attempt}}});
    }
  }
  return finish(step, job,
                without_run(VerdictName::cancelled, "", "cancelled by " + (by.empty() ? "its submitter" : by),
                            "submit it again to run it after all"));
}

Expected<void> bring_on(Step& step, const JobRecord& queued, const Submission& again) {
  KQ_CHECK(queued.state == JobState::queued);
  JobRecord wanted = brought_on(queued, again, step.now_ms);
  if (wanted == queued) return {};
  KQ_TRY_VALUE(const auto found, load(step, queued.seq));
  Job& job = *found;
  release(step, job, false);
  if (wanted.deadline_ms != job.record.deadline_ms) {
    clear_timer(step, expires(job.record));
    if (wanted.deadline_ms != 0) set_timer(step, expires(wanted), "");
  }
  job.record = std::move(wanted);
  job.lane.priority = job.record.priority;
  stand(step, job);
  write_record(step, job);
  return {};
}

void come_due(Step& step, Job& job) {
  job.record.not_before_ms = 0;
  stand(step, job);
  write_record(step, job);
}

Expected<void> expire_queued(Step& step, Job& job) {
  return finish(
      step, job,
      without_run(VerdictName::expired, "", "not begun before its deadline", "submit it again with a later one"));
}

Expected<void> finish(Step& step, Job& job, Result result) {
  const Sequence seq = job.record.seq;
  const VerdictName verdict = name_of(result.verdict);
  release(step, job, false);
  forget_build(step, seq);
  if (job.record.deadline_ms > step.now_ms) clear_timer(step, expires(job.record));
  step.state.accounts.remove(job.lane, job.record.bytes);
  step.state.jobs.finish(job, {.verdict = verdict, .device_memory_bytes = result.device.memory_bytes});
  job.record.finished_at_ms = step.now_ms;
  job.record.not_before_ms = 0;
  if (auto entered = enter_board(step, job, result); !entered) return entered;
  step.state.metrics.finished(job.record.needs.backend, verdict);
  step.state.watchers.finished(seq);
  write_record(step, job);
  if (result.samples.submission_ns.size() + result.samples.reference_ns.size() > kSamplesInResultMax) {
    step.ready.write(store::Family::samples, store::sequence_key(seq), encode(std::exchange(result.samples, {})));
  }
  step.ready.write(store::Family::result, store::sequence_key(seq), encode(result));
  if (step.state.options.notes_per_job)
    step.ready.note(NoteLevel::debug, text_of_attempt(job) + ": " + std::string(to_string(verdict)));
  return {};
}

Job* current(State& state, const LeaseId& lease) {
  Job* job = state.jobs.find(lease.seq);
  if (job == nullptr || job->record.state != JobState::leased || job->record.attempt != lease.attempt) return nullptr;
  return job;
}

bool is_held_by_another(State& state, const Job& job, std::uint64_t epoch) {
  const Session* holder = state.workers.find(job.tenure->holder);
  return holder != nullptr && holder->epoch != epoch;
}

}  // namespace kq::broker
