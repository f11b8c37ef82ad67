#include "broker/jobs/lifecycle.h"

#include <algorithm>
#include <utility>

#include "broker/jobs/prebuild.h"
#include "broker/jobs/result_bounds.h"
#include "broker/jobs/wishes.h"
#include "core/base/check.h"
#include "core/base/own_share.h"
#include "core/codec/codec.h"
#include "core/limits.h"
#include "store/boards.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::broker {

// A friend of Queue::WriterKey, which gives write access to the queue's tables. The struct is defined here, so only
// this file and the restart (broker/recovery.cc) change the tables.
struct Lifecycle {
  static QueueTables& tables(Step& step) { return step.state.queue.tables(Queue::WriterKey()); }
};

namespace {

constexpr std::int64_t kClassWarningIntervalMs = 10'000;

QueueTables& tables(Step& step) {
  return Lifecycle::tables(step);
}

Job& writable(Step& step, const Job& job) {
  Job* found = tables(step).jobs.find(job.record.seq);
  KQ_CHECK(found == &job);
  return *found;
}

std::string text_of(const Job& job) {
  return "job " + std::to_string(job.record.seq);
}

std::string text_of_attempt(const Job& job) {
  return text_of(job) + ", attempt " + std::to_string(job.record.attempt);
}

// Returns the name of the worker that has the job's lease, or had it last, for messages.
std::string worker_name_of(const Job& job) {
  return job.lease && !job.lease->worker.empty() ? job.lease->worker : "no known worker";
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

Lane::QueuedJob queued_job_of(const JobRecord& record) {
  const store::QueueEntry entry = entry_of(record);
  return {.seq = record.seq, .problem = entry.problem, .submitted_at_ms = entry.submitted_at_ms};
}

void write_entry(Step& step, const Job& job) {
  step.ready.write(store::Family::queue, store::queue_key(job.lane, job.record.seq),
                   store::queue_value(entry_of(job.record)));
}

void set_timer(Step& step, const store::TimerPlace& place, std::string value) {
  step.ready.write(store::Family::timer, store::timer_key(place), std::move(value));
  tables(step).timers.set(place);
}

void clear_timer(Step& step, const store::TimerPlace& place) {
  step.ready.erase(store::Family::timer, store::timer_key(place));
  tables(step).timers.clear(place);
}

// Puts a queued job into its lane, or among the timers if it may not run yet.
void place_in_queue(Step& step, const Job& job) {
  if (is_waiting(job.record)) {
    set_timer(step, may_run(job.record), store::timer_value(job.lane, entry_of(job.record)));
  } else {
    tables(step).scheduler.add(job.lane, queued_job_of(job.record));
    write_entry(step, job);
  }
}

void add_lease(Session& session, const Job& job) {
  const bool is_new = session.leases.insert(job.record.seq).second;
  session.slow_lease_count += is_new && is_slow_to_build(job.record.needs) ? 1 : 0;
}

// Takes the job out of where its state has put it: its lane, the timers, or the session that has its lease. Its entry
// in the store's index (Family::queue) is erased too, unless `keeps_entry`.
void withdraw(Step& step, const Job& job, bool keeps_entry) {
  if (is_waiting(job.record)) {
    clear_timer(step, may_run(job.record));
    return;
  }
  if (job.record.state == JobState::queued) tables(step).scheduler.remove(job.lane, job.record.seq);
  if (job.lease) release_lease(step, job);
  if (!keeps_entry) step.ready.erase(store::Family::queue, store::queue_key(job.lane, job.record.seq));
}

// Deletes the names that no unfinished job uses. This is rare, because most names are used again and again.
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
  tables(step).scheduler.drop_released_submitters();
}

// Returns the number of the name, and gives it a new one if it has none. Fails with bad_input if unfinished jobs use
// `names_max` names already.
template <class Name>
Expected<std::uint32_t> number_for(Step& step, Numbering<Name>& names, const Name& name, std::string_view prefix,
                                   std::size_t names_max, const std::string& bytes, const char* plural,
                                   const auto& is_used) {
  if (const auto number = names.find(name)) return *number;
  if (names.size() >= names_max) drop_unused(step, names, prefix, is_used);
  if (names.size() >= names_max)
    return bad_input("unfinished jobs have " + std::to_string(names_max) + " different " + plural + ", the limit");
  const std::uint32_t number = names.add(name);
  step.ready.write(store::Family::meta, store::numbered_key(prefix, number), bytes);
  return number;
}

// Warns that the limit of different requirements (classes) is reached, and names the submitter that has the most of
// them, because jobs with new requirements are refused meanwhile. At most one warning in kClassWarningIntervalMs.
void warn_about_classes(Step& step, const std::string& error) {
  if (step.now_ms < step.state.next_class_warning_ms) return;
  step.state.next_class_warning_ms = step.now_ms + kClassWarningIntervalMs;
  const auto& accounts = step.state.queue.accounts().by_submitter();
  const auto most = std::ranges::max_element(accounts, {}, [](const auto& one) { return one.second.classes; });
  if (most == accounts.end()) return;
  step.ready.note(NoteLevel::warning, error + ": submitter '" +
                                          *step.state.queue.scheduler().submitters.name(most->first) +
                                          "' has most of them, " + std::to_string(most->second.classes));
}

// Returns the lane of the job, and gives numbers to its names if needed. Fails with bad_input while there are too many
// different requirements or submitters, or too many requirements of this submitter.
Expected<store::LaneId> lane_for(Step& step, const JobRecord& record) {
  Scheduler& scheduler = tables(step).scheduler;
  const Accounts& accounts = step.state.queue.accounts();
  const BrokerOptions& options = step.state.options;
  // Most jobs have the requirements of another job of their submitter.
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
    warn_about_classes(step, needs.error().message);
    return failure(needs.error());
  }
  KQ_TRY_VALUE(const auto submitter, number_for(step, scheduler.submitters, record.submitter, store::kSubmitterPrefix,
                                                options.submitters_max, record.submitter, "submitters",
                                                [&](std::uint32_t number) { return accounts.uses_submitter(number); }));
  if (step.state.switches.paused.contains(record.submitter) && !record.submitter.empty())
    scheduler.pause(submitter, true);
  return store::LaneId{.needs = *needs, .priority = record.priority, .submitter = submitter};
}

// Returns the pause after so many failures. Each failure doubles the pause, up to `max_ms`.
std::int64_t backoff_ms(std::int64_t min_ms, std::int64_t max_ms, std::uint32_t failures) {
  std::int64_t ms = min_ms;
  for (std::uint32_t i = 1; i < failures && ms < max_ms; ++i) ms *= 2;
  return std::min(ms, max_ms);
}

// Gives the worker no jobs for a while, longer after each failure: other workers may succeed with the same jobs.
void back_off(Step& step, SessionId id) {
  Session* session = step.state.workers.find(id);
  if (session == nullptr) return;
  const BrokerOptions& options = step.state.options;
  session->failure_count += 1;
  session->backs_off_until_ms =
      step.now_ms + backoff_ms(options.worker_backoff_ms_min, options.worker_backoff_ms_max, session->failure_count);
}

void return_to_queue(Step& step, Job& job, std::int64_t not_before_ms) {
  withdraw(step, job, not_before_ms == 0);
  tables(step).jobs.requeue(job);
  job.record.not_before_ms = not_before_ms;
  place_in_queue(step, job);
  write_record(step, job);
}

// Changes what the record of an unfinished job says of its submitters, its requirements and its times. The job moves to
// the lane and the account that follow. Fails with bad_input as lane_for() does.
Expected<void> rewrite(Step& step, Job& job, JobRecord wanted) {
  KQ_TRY_VALUE(const auto lane, lane_for(step, wanted));
  const bool is_leased = job.record.state == JobState::leased;
  if (!is_leased) {
    withdraw(step, job, false);
  } else if (lane != job.lane) {
    step.ready.erase(store::Family::queue, store::queue_key(job.lane, job.record.seq));
  }
  if (wanted.deadline_ms != job.record.deadline_ms) {
    clear_timer(step, expires(job.record));
    if (wanted.deadline_ms != 0) set_timer(step, expires(wanted), "");
  }
  if (lane.needs != job.lane.needs || lane.submitter != job.lane.submitter) {
    tables(step).accounts.remove(job.lane, job.record.bytes);
    tables(step).accounts.add(lane, job.record.bytes);
  }
  job.record = std::move(wanted);
  job.lane = lane;
  if (is_leased) {
    write_entry(step, job);
  } else {
    place_in_queue(step, job);
  }
  write_record(step, job);
  return {};
}

// Returns whether a queued job should move to the account of this submitter, so that it neither waits behind the jobs
// of another submitter nor while that submitter is paused.
bool should_charge(const State& state, const JobRecord& job, const std::string& submitter) {
  if (job.state != JobState::queued || submitter == job.submitter || !is_for(job, submitter)) return false;
  const auto account = [&](const std::string& name) {
    const auto number = state.queue.scheduler().submitters.find(name);
    return number ? state.queue.accounts().of(*number) : Account{};
  };
  const auto is_paused = [&](const std::string& name) { return !name.empty() && state.switches.paused.contains(name); };
  const Account own = account(submitter);
  if (own.jobs >= state.options.submitter_jobs_max || own.bytes + job.bytes > state.options.submitter_bytes_max)
    return false;
  if (is_paused(job.submitter) != is_paused(submitter)) return is_paused(job.submitter);
  return own.jobs + 1 < account(job.submitter).jobs;
}

// Returns the result of a job that no worker's report has ended: cancelled, expired or abandoned.
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

Expected<void> update_board(Step& step, const Job& job, const Result& result) {
  if (!row_of(name_of(result.verdict)).ranks) return {};
  KQ_TRY_VALUE(const auto body, submission_of(step, job));
  if (body == nullptr) return our_fault("store, family 'body': " + text_of(job) + " has none");
  auto row = board_row(*body, result, job.record.seq, job.record.finished_at_ms);
  if (!row) return {};
  row->submitter = submitter_behind(first_submitter_of(job.record), job.record.run);
  return store::add_to_boards(*step.state.store, step.state.boards, *row,
                              [&](store::Family family, std::string key, std::optional<std::string> value) {
                                step.ready.write(family, std::move(key), std::move(*value));
                              });
}

Expected<void> fire(Step& step, const store::TimerPlace& place) {
  KQ_TRY_VALUE(const auto job, load(step, place.seq));
  if (job == nullptr || job->record.state != JobState::queued) return {};
  if (place.kind == store::TimerKind::may_run) {
    // Another timer of this Tick may have changed what the job waits for.
    if (job->record.not_before_ms == place.at_ms) activate(step, *job);
    return {};
  }
  // A job that began before its deadline and is queued again does not expire.
  if (job->record.deadline_ms != place.at_ms || job->record.leased_at_ms != 0) return {};
  return expire_queued(step, *job);
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

Expected<const Submission*> submission_of(Step& step, const Job& given) {
  if (given.submission) return given.submission.get();
  KQ_TRY_VALUE(auto body, store::read_body(*step.state.store, given.record.seq));
  if (!body) return nullptr;
  Job& job = writable(step, given);
  job.submission = std::make_shared<const Submission>(std::move(*body));
  return job.submission.get();
}

Expected<const Job*> load(Step& step, Sequence seq) {
  if (const Job* job = step.state.queue.jobs().find(seq))
    return job->record.state == JobState::finished ? nullptr : job;
  KQ_TRY_VALUE(auto record, store::read_job(*step.state.store, seq));
  if (!record || record->state == JobState::finished) return nullptr;
  KQ_TRY_VALUE(const auto lane, lane_for(step, *record));
  return &tables(step).jobs.insert({.record = std::move(*record), .lane = lane});
}

const Job* current(const State& state, const LeaseId& lease) {
  const Job* job = state.queue.jobs().find(lease.seq);
  if (job == nullptr || job->record.state != JobState::leased || job->record.attempt != lease.attempt) return nullptr;
  return job;
}

bool is_held_by_another(const State& state, const Job& job, std::uint64_t epoch) {
  const Session* session = state.workers.find(job.lease->session_id);
  return session != nullptr && session->epoch != epoch;
}

Expected<void> enqueue(Step& step, JobRecord record, std::shared_ptr<const Submission> submission) {
  KQ_CHECK(record.state == JobState::queued);
  if (record.not_before_ms <= step.now_ms) record.not_before_ms = 0;
  KQ_TRY_VALUE(const auto lane, lane_for(step, record));
  JobTable& jobs = tables(step).jobs;
  Job* job = jobs.find(record.seq);
  if (job != nullptr) {  // the job ended in this turn
    jobs.revive(*job);
    // A job that was also submitted in this turn has no submission in the store yet.
    if (!submission) submission = std::move(job->submission);
    *job = {.record = std::move(record), .lane = lane};
  } else {
    job = &jobs.insert({.record = std::move(record), .lane = lane});
  }
  job->submission = std::move(submission);
  tables(step).accounts.add(lane, job->record.bytes);
  if (job->record.deadline_ms != 0) set_timer(step, expires(job->record), "");
  place_in_queue(step, *job);
  write_record(step, *job);
  return {};
}

Expected<void> merge_submission(Step& step, const JobRecord& unfinished, const Submission& again,
                                const std::string& submitter) {
  KQ_CHECK(unfinished.state != JobState::finished);
  JobRecord wanted = widened(unfinished, again, step.now_ms);
  add_submitter(wanted, submitter);
  if (should_charge(step.state, wanted, submitter)) charge_to(wanted, submitter);
  if (wanted == unfinished) return {};
  KQ_TRY_VALUE(const auto found, load(step, unfinished.seq));
  return rewrite(step, writable(step, *found), std::move(wanted));
}

Expected<void> cancel_for(Step& step, const Job& job, const std::vector<std::string>& submitters) {
  if (is_for_too_many(job.record)) return {};
  JobRecord wanted = job.record;
  remove_submitters(wanted, submitters);
  if (auto moved = rewrite(step, writable(step, job), wanted); moved || moved.error().kind != ErrorKind::bad_input)
    return moved;
  // The account that the job would move to has no room. The job stays in its account, and goes on.
  wanted = job.record;
  std::erase_if(wanted.also_for,
                [&](const std::string& name) { return std::ranges::find(submitters, name) != submitters.end(); });
  return rewrite(step, writable(step, job), std::move(wanted));
}

void activate(Step& step, const Job& waiting) {
  Job& job = writable(step, waiting);
  tables(step).timers.count_activated();
  job.record.not_before_ms = 0;
  place_in_queue(step, job);
  write_record(step, job);
}

Expected<void> fire_timers(Step& step) {
  const Timers& timers = step.state.queue.timers();
  if (!timers.next_ms() || *timers.next_ms() > step.now_ms) return {};
  std::vector<store::TimerPlace> due;
  std::optional<std::int64_t> later_ms;
  bool well_formed = true;
  const auto visit = [&](std::string_view key, std::string_view) {
    const auto place = store::timer_place_from(key);
    well_formed = place.has_value();
    if (!well_formed) return false;
    if (place->at_ms > step.now_ms || due.size() >= step.state.options.timers_per_step_max) {
      later_ms = place->at_ms;
      return false;
    }
    due.push_back(*place);
    return true;
  };
  KQ_TRY(step.state.store->scan(store::Family::timer, timers.first_key(), "", visit));
  if (!well_formed) return our_fault("store, family 'timer': a key is not a time and a sequence");
  tables(step).timers.begin_firing(later_ms);
  for (const store::TimerPlace& place : due) {
    tables(step).timers.fired(place);
    step.ready.erase(store::Family::timer, store::timer_key(place));
    KQ_TRY(fire(step, place));
  }
  return {};
}

void pause_submitter(Step& step, const std::string& submitter, bool paused) {
  Scheduler& scheduler = tables(step).scheduler;
  if (const auto number = scheduler.submitters.find(submitter)) scheduler.pause(*number, paused);
}

std::optional<store::QueuePlace> choose_next(Step& step, const Offer& offer, const Scheduler::WarmthFor& warmth_for) {
  return tables(step).scheduler.choose(offer, warmth_for);
}

void grant_lease(Step& step, const Job& queued, Session& session, std::size_t device) {
  Job& job = writable(step, queued);
  withdraw(step, job, true);
  stop_build(step, job.record.seq);
  job.record.attempt += 1;
  if (job.record.leased_at_ms == 0) step.state.metrics.first_leased(step.now_ms - job.record.submitted_at_ms);
  job.record.leased_at_ms = step.now_ms;
  tables(step).jobs.start_lease(job, {.session_id = session.id,
                                      .worker = session.worker,
                                      .device = session.devices[device],
                                      .deadline_ms = step.now_ms + step.state.options.lease_ms});
  tables(step).scheduler.charge(job.lane.submitter);
  add_lease(session, job);
  step.state.workers.warm(session, device, entry_of(job.record).problem);
  write_record(step, job);
  write_entry(step, job);
  if (step.state.options.notes_per_job)
    step.ready.note(NoteLevel::debug, text_of_attempt(job) + ": leased to " + session.worker);
}

void renew_lease(Step& step, const Job& leased, Session& session) {
  KQ_CHECK(leased.lease.has_value());
  Job& job = writable(step, leased);
  if (job.lease->session_id != session.id) {
    release_lease(step, job);
    add_lease(session, job);
    job.lease->session_id = session.id;
    job.lease->worker = session.worker;
    step.ready.note(NoteLevel::debug, text_of_attempt(job) + ": taken over by " + session.worker);
  }
  job.lease->lapse_is_failure = true;
  job.lease->heartbeats_missed = 0;
  tables(step).jobs.renew(job, step.now_ms + step.state.options.lease_ms);
}

std::uint32_t count_missed_heartbeat(Step& step, const Job& job) {
  return ++writable(step, job).lease->heartbeats_missed;
}

void release_lease(Step& step, const Job& leased) {
  KQ_CHECK(leased.lease.has_value());
  Job& job = writable(step, leased);
  if (Session* session = step.state.workers.find(job.lease->session_id)) {
    session->slow_lease_count -= session->leases.erase(job.record.seq) * (is_slow_to_build(job.record.needs) ? 1 : 0);
    session->builds_in_progress.erase({job.record.seq, job.record.attempt});
    step.state.workers.credit_may_have_grown(*session);
  }
  job.lease->session_id = kNoSession;
}

void extend_leases(Step& step, std::int64_t ms) {
  tables(step).jobs.extend_all(ms);
}

void requeue(Step& step, const Job& leased, const std::string& why) {
  step.ready.note(NoteLevel::debug, text_of_attempt(leased) + ": queued again, " + why);
  return_to_queue(step, writable(step, leased), 0);
}

Expected<void> fail(Step& step, const Job& failed, const std::string& message) {
  Job& job = writable(step, failed);
  job.record.failures += 1;
  job.record.last_error = front_of(message, kMessageTextMax);
  if (job.lease) back_off(step, job.lease->session_id);
  step.ready.warn(
      "failures of " + worker_name_of(job),
      text_of_attempt(job) + ": failure " + std::to_string(job.record.failures) + ", " + job.record.last_error);
  step.state.metrics.failed();
  if (job.record.failures >= step.state.options.attempts_max) return abandon(step, job, job.record.last_error);
  const BrokerOptions& options = step.state.options;
  return_to_queue(
      step, job, step.now_ms + backoff_ms(options.job_backoff_ms_min, options.job_backoff_ms_max, job.record.failures));
  return {};
}

Expected<void> abandon(Step& step, const Job& job, const std::string& message) {
  Result result = without_run(VerdictName::abandoned, std::to_string(job.record.attempt) + " attempts", message,
                              "not the submission's fault: submit it again to retry");
  if (job.lease) {
    result.device = job.lease->device;
    result.worker = job.lease->worker;
  }
  step.ready.warn("abandoned jobs of " + worker_name_of(job), text_of_attempt(job) + ": abandoned, " + message);
  step.ready.write(store::Family::dead, store::sequence_key(job.record.seq), "");
  return finish(step, job, std::move(result));
}

Expected<void> cancel(Step& step, const Job& job, const std::string& by) {
  if (job.lease) {
    if (const Session* session = step.state.workers.find(job.lease->session_id)) {
      step.ready.send_to_worker(session->peer, 0, Revoke{.leases = {{job.record.seq, job.record.attempt}}});
    }
  }
  return finish(step, job,
                without_run(VerdictName::cancelled, "", "cancelled by " + (by.empty() ? "its submitter" : by),
                            "submit it again to run it after all"));
}

Expected<void> expire_queued(Step& step, const Job& job) {
  return finish(step, job,
                without_run(VerdictName::expired, "", "the job did not begin before its deadline",
                            "submit it again with a later deadline"));
}

Expected<void> finish(Step& step, const Job& unfinished, Result result) {
  Job& job = writable(step, unfinished);
  const Sequence seq = job.record.seq;
  const VerdictName verdict = name_of(result.verdict);
  withdraw(step, job, false);
  drop_build(step, seq);
  if (job.record.deadline_ms > step.now_ms) clear_timer(step, expires(job.record));
  tables(step).accounts.remove(job.lane, job.record.bytes);
  tables(step).jobs.finish(job, {.verdict = verdict, .device_memory_bytes = result.device.memory_bytes});
  job.record.finished_at_ms = step.now_ms;
  job.record.not_before_ms = 0;
  KQ_TRY(update_board(step, job, result));
  step.state.metrics.finished(job.record.needs.backend, verdict);
  step.state.watchers.job_finished(seq);
  write_record(step, job);
  if (result.samples.submission_ns.size() + result.samples.reference_ns.size() > kSamplesInResultMax) {
    step.ready.write(store::Family::samples, store::sequence_key(seq), encode(std::exchange(result.samples, {})));
  }
  step.ready.write(store::Family::result, store::sequence_key(seq), encode(result));
  if (step.state.options.notes_per_job)
    step.ready.note(NoteLevel::debug, text_of_attempt(job) + ": " + std::string(to_string(verdict)));
  return {};
}

void cache_job(Step& step, Job job) {
  tables(step).jobs.insert(std::move(job));
}

void refill_lane(Step& step, const store::LaneId& lane, std::span<const Lane::QueuedJob> more, bool exhausted) {
  tables(step).scheduler.refill(lane, more, exhausted);
}

void shrink_job_table(Step& step) {
  tables(step).jobs.shrink(step.state.options.queued_jobs_cached_max);
}

}  // namespace kq::broker
