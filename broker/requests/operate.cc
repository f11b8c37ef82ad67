#include "broker/requests/operate.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/jobs/lifecycle.h"
#include "broker/jobs/wishes.h"
#include "core/limits.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::broker {
namespace {

// Returns the current record of the job, finished or not, or nothing if there is no such job.
Expected<std::optional<JobRecord>> record_of(const State& state, Sequence seq) {
  if (const Job* job = state.queue.jobs().find(seq)) return std::optional(job->record);
  if (state.retention.removed.contains(seq)) return std::optional<JobRecord>();
  return store::read_job(*state.store, seq);
}

// Returns the verdict of a finished job.
Expected<VerdictName> verdict_of(const State& state, Sequence seq) {
  if (const Job* job = state.queue.jobs().find(seq); job != nullptr && job->ending) return job->ending->verdict;
  KQ_TRY_VALUE(const auto result, store::read_result(*state.store, seq, false));
  if (!result) return our_fault("store: job " + std::to_string(seq) + " is finished, but has no result");
  return name_of(result->verdict);
}

// Answers with one JobAction for each sequence, in order. `act` gets the job's record and sets done, state and reason.
template <class Act>
Expected<void> for_each(Step& step, const Caller& caller, const std::vector<Sequence>& seqs, Act act) {
  if (seqs.size() > kQuerySeqsMax) {
    reply(step, caller,
          Refused{std::to_string(seqs.size()) + " jobs in one request, at most " + std::to_string(kQuerySeqsMax) +
                  " are allowed"});
    return {};
  }
  ActionReply answers;
  for (const Sequence seq : seqs) {
    JobAction& action = answers.jobs.emplace_back(JobAction{.seq = seq, .reason = ""});
    KQ_TRY_VALUE(auto record, record_of(step.state, seq));
    if (!record) {
      const bool existed = seq > 0 && seq < step.state.next_sequence;
      action.reason = existed ? "job " + std::to_string(seq) + " was removed some time after its end"
                              : "no job " + std::to_string(seq);
      continue;
    }
    action.state = record->state;
    KQ_TRY(act(*record, action));
  }
  reply(step, caller, std::move(answers));
  return {};
}

// Returns those submitters of the job for whom the caller may cancel it: one where the request names one.
std::vector<std::string> cancelled_for(const Caller& caller, const JobRecord& record, const std::string& named) {
  std::vector<std::string> names = submitters_of(record);
  const bool may_name_others = caller.identity.role == Role::admin;
  const std::string only = named.empty() || may_name_others ? named : submitter_of(caller, named);
  std::erase_if(names,
                [&](const std::string& name) { return only.empty() ? !owns_jobs_of(caller, name) : name != only; });
  return names;
}

Expected<void> cancel_one(Step& step, const Caller& caller, const JobRecord& record, const std::string& named,
                          JobAction& action) {
  const std::string text = "job " + std::to_string(record.seq);
  const bool is_for_all = caller.identity.role == Role::admin && named.empty();
  const auto names = cancelled_for(caller, record, named);
  if (!is_for_all && names.empty()) {
    action.reason = text + " is " + record.submitter + "'s; only they or an admin may cancel it";
    return {};
  }
  if (record.state == JobState::finished) {
    KQ_TRY_VALUE(const auto verdict, verdict_of(step.state, record.seq));
    action.done = verdict == VerdictName::cancelled;
    action.reason = text + " is finished: " + std::string(to_string(verdict));
    return {};
  }
  KQ_TRY_VALUE(const auto job, load(step, record.seq));
  action.done = true;
  if (!is_for_all && (is_for_too_many(record) || names.size() < submitters_of(record).size())) {
    KQ_TRY(cancel_for(step, *job, names));
    action.reason = text + " goes on for another submitter of the same work";
    return {};
  }
  // A gateway cancels with its own key for one of its users, whose name begins with that of the key.
  const std::string& key = caller.identity.name;
  const bool is_for_user = !is_for_all && !key.empty() && names.size() == 1 && names[0].starts_with(key + "/");
  KQ_TRY(cancel(step, *job, is_for_user ? names[0] : key));
  action.state = JobState::finished;
  return {};
}

Expected<void> retry_one(Step& step, JobRecord record, JobAction& action) {
  action.done = record.state != JobState::finished;
  if (action.done) {
    action.reason = "job " + std::to_string(record.seq) + " is " + std::string(to_string(record.state));
    return {};
  }
  KQ_TRY_VALUE(const auto verdict, verdict_of(step.state, record.seq));
  if (row_of(verdict).terminal) {
    action.reason = "job " + std::to_string(record.seq) + " has its verdict, " + std::string(to_string(verdict)) +
                    "; submit it with --force-rerun to judge it once more";
    return {};
  }
  // Finishing the job cleared its not-before time; the body still has the requested one.
  KQ_TRY_VALUE(const auto body, store::read_body(*step.state.store, record.seq));
  if (body) record.not_before_ms = body->not_before_ms;
  record.state = JobState::queued;
  record.failures = 0;
  record.last_error.clear();
  record.submitted_at_ms = step.now_ms;
  record.leased_at_ms = record.finished_at_ms = 0;
  if (record.deadline_ms <= step.now_ms) record.deadline_ms = 0;  // the retry overrides a deadline that has passed
  if (auto queued = enqueue(step, record); !queued) {
    if (queued.error().kind != ErrorKind::bad_input) return queued;
    action.reason = queued.error().message;
    return {};
  }
  if (verdict == VerdictName::abandoned) step.ready.erase(store::Family::dead, store::sequence_key(record.seq));
  action.done = true;
  action.state = JobState::queued;
  return {};
}

// Makes room for one more draining worker, and returns whether there is room. Names of workers that are not connected
// stay, because their machines may return. When the limit is reached, the one that has drained for longest is dropped.
bool make_room_to_drain(Step& step) {
  State& state = step.state;
  if (state.switches.draining.size() < state.options.sessions_max) return true;
  auto oldest = state.switches.draining.end();
  for (auto one = state.switches.draining.begin(); one != state.switches.draining.end(); ++one) {
    if ((oldest == state.switches.draining.end() || one->second < oldest->second) &&
        !state.workers.is_connected(one->first))
      oldest = one;
  }
  if (oldest == state.switches.draining.end()) return false;
  step.ready.note(NoteLevel::warning, "worker " + oldest->first +
                                          ": it is not connected, and no longer known to be drained: " +
                                          std::to_string(state.switches.draining.size()) + " workers are, the limit");
  step.ready.erase(store::Family::meta, std::string(store::kDrainingPrefix) + oldest->first);
  state.switches.draining.erase(oldest);
  return true;
}

// Writes or erases a switch in family meta.
void save_switch(Step& step, std::string_view prefix, const std::string& name, bool on) {
  const std::string key = std::string(prefix) + name;
  if (on) {
    step.ready.write(store::Family::meta, key, "");
  } else {
    step.ready.erase(store::Family::meta, key);
  }
}

}  // namespace

Expected<void> answer(Step& step, const Caller& caller, const CancelJobs& request) {
  return for_each(step, caller, request.seqs, [&](const JobRecord& record, JobAction& action) {
    return cancel_one(step, caller, record, request.submitter, action);
  });
}

Expected<void> answer(Step& step, const Caller& caller, const RetryJobs& request) {
  if (!require_admin(step, caller)) return {};
  return for_each(step, caller, request.seqs,
                  [&](const JobRecord& record, JobAction& action) { return retry_one(step, record, action); });
}

Expected<void> answer(Step& step, const Caller& caller, const PurgeDead& request) {
  if (!require_admin(step, caller)) return {};
  return for_each(step, caller, request.seqs, [&](const JobRecord& record, JobAction& action) -> Expected<void> {
    const std::string key = store::sequence_key(record.seq);
    KQ_TRY_VALUE(const auto letter, step.state.store->get(store::Family::dead, key));
    action.done = letter.has_value();
    if (!action.done) action.reason = "job " + std::to_string(record.seq) + " is no dead letter";
    if (action.done) step.ready.erase(store::Family::dead, key);
    return {};
  });
}

Expected<void> answer(Step& step, const Caller& caller, const Pause& request) {
  if (!require_admin(step, caller)) return {};
  if (const auto wrong = name_error(request.submitter); wrong && !request.submitter.empty()) {
    reply(step, caller, Refused{"submitter " + *wrong});
    return {};
  }
  State& state = step.state;
  const bool room =
      state.switches.paused.contains(request.submitter) || state.switches.paused.size() < state.options.submitters_max;
  if (request.paused && !room) {
    reply(step, caller, Refused{std::to_string(state.switches.paused.size()) + " submitters are paused, the limit"});
    return {};
  }
  if (request.paused) {
    state.switches.paused.insert(request.submitter);
  } else {
    state.switches.paused.erase(request.submitter);
  }
  if (!request.submitter.empty()) pause_submitter(step, request.submitter, request.paused);
  save_switch(step, store::kPausedPrefix, request.submitter, request.paused);
  const std::string subject = request.submitter.empty() ? "everybody" : "submitter " + request.submitter;
  step.ready.note(NoteLevel::info, subject + (request.paused ? ": paused" : ": resumed"));
  reply(step, caller, Done{});
  return {};
}

Expected<void> answer(Step& step, const Caller& caller, const Drain& request) {
  if (!require_admin(step, caller)) return {};
  State& state = step.state;
  if (const auto wrong = name_error(request.worker)) {
    reply(step, caller, Refused{"the worker's name " + *wrong});
    return {};
  }
  if (request.draining && !state.switches.draining.contains(request.worker) && !make_room_to_drain(step)) {
    reply(step, caller, Refused{std::to_string(state.switches.draining.size()) + " workers are draining, the limit"});
    return {};
  }
  if (request.draining) {
    state.switches.draining.insert_or_assign(request.worker, step.now_ms);
  } else {
    state.switches.draining.erase(request.worker);
  }
  save_switch(step, store::kDrainingPrefix, request.worker, request.draining);
  step.ready.note(NoteLevel::info,
                  "worker " + request.worker + (request.draining ? ": gets nothing new" : ": gets jobs again"));
  reply(step, caller, Done{});
  return {};
}

Expected<void> answer(Step& step, const Caller& caller, const Backup& request) {
  if (!require_admin(step, caller)) return {};
  if (request.dir.empty() || request.dir.front() != '/') {
    reply(step, caller, Refused{"backup '" + request.dir + "': an absolute path on the broker's machine is needed"});
    return {};
  }
  step.ready.backup(caller.peer, caller.request_id, request.dir);
  return {};
}

}  // namespace kq::broker
