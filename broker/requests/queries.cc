#include "broker/requests/queries.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "broker/jobs/result_bounds.h"
#include "broker/metrics/metrics.h"
#include "broker/requests/explain.h"
#include "broker/requests/share.h"
#include "core/base/version.h"
#include "core/codec/codec.h"
#include "core/limits.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::broker {
namespace {

// The limits of the rows of one reply. A message may have four times as many bytes, and some items more.
constexpr std::size_t kRunReplyBytesMax = 16u << 20;
constexpr std::size_t kRunReplyItemsMax = kMessageItemsTotalMax - (1u << 10);
static_assert(kResultItemsMax < kRunReplyItemsMax, "any one row must fit into a reply");

// A worker that builds a job, and that build.
struct JobBuild {
  const Session* session = nullptr;     // null if no worker has the job, or builds it in advance
  const SessionBuild* build = nullptr;  // null unless the worker builds the job at present
};

JobBuild build_of(const State& state, const Job& job) {
  LeaseId lease{job.record.seq, 0};
  JobBuild found;
  if (job.lease) {
    lease.attempt = job.record.attempt;
    found.session = state.workers.find(job.lease->session_id);
  } else if (const auto build = state.builds.in_flight.find(job.record.seq); build != state.builds.in_flight.end()) {
    found.session = state.workers.find(build->second.session_id);
  }
  if (found.session == nullptr) return found;
  const auto& builds = found.session->builds_in_progress;
  if (const auto build = builds.find(lease); build != builds.end()) found.build = &build->second;
  return found;
}

void add_build(const State& state, const Job& job, JobStatus& status) {
  const auto [session, build] = build_of(state, job);
  if (job.lease) {
    status.worker = job.lease->worker;
  } else if (build != nullptr) {
    status.worker = session->worker;
  }
  if (build == nullptr) return;
  status.build_started_ms = build->started_ms;
  status.builds_extensions = build->extensions;
}

// Returns nothing if there is no such job.
Expected<std::optional<JobStatus>> status_of(const State& state, WaitExplainer& explainer, Sequence seq) {
  if (const Job* job = state.queue.jobs().find(seq)) {
    const JobRecord& record = job->record;
    JobStatus status{.seq = seq, .state = record.state, .attempt = record.attempt, .verdict = "", .served = false};
    if (job->ending) status.verdict = to_string(job->ending->verdict);
    if (record.state == JobState::queued) explainer.explain(record, status);
    add_build(state, *job, status);
    return std::optional(std::move(status));
  }
  KQ_TRY_VALUE(const auto record, store::read_job(*state.store, seq));
  if (!record) return std::optional<JobStatus>();
  if (record->state == JobState::queued) {
    JobStatus status{.seq = seq, .state = JobState::queued, .attempt = record->attempt, .verdict = "", .served = false};
    explainer.explain(*record, status);
    return std::optional(std::move(status));
  }
  KQ_TRY_VALUE(const auto result, store::read_result(*state.store, seq, false));
  if (!result) return our_fault("store: job " + std::to_string(seq) + " is not queued, not leased, and has no result");
  return std::optional(JobStatus{.seq = seq,
                                 .state = record->state,
                                 .attempt = record->attempt,
                                 .verdict = std::string(to_string(name_of(result->verdict))),
                                 .served = false});
}

Expected<StatusReply> statuses_of(const State& state, const std::vector<Sequence>& seqs) {
  StatusReply answers;
  WaitExplainer explainer(state);
  for (const Sequence seq : seqs) {
    KQ_TRY_VALUE(auto status, status_of(state, explainer, seq));
    if (status) answers.jobs.push_back(std::move(*status));
  }
  return answers;
}

// Sends the answer. An error of the client becomes Refused; any other error is returned.
template <class Reply>
Expected<void> send_answer(Step& step, const Caller& caller, Expected<Reply> answer) {
  if (!answer && answer.error().kind != ErrorKind::bad_input) return failure(std::move(answer.error()));
  if (!answer) {
    reply(step, caller, Refused{std::move(answer.error().message)});
  } else {
    reply(step, caller, std::move(*answer));
  }
  return {};
}

// Returns the job for a list, with names from its submission.
Expected<JobRow> row_for(const State& state, JobRecord record) {
  JobRow row{.job = std::move(record), .label = "", .author = "", .worker = ""};
  KQ_TRY_VALUE(const auto body, store::read_body(*state.store, row.job.seq));
  if (body) {
    row.label = body->label;
    row.author = body->author;
  }
  if (const Job* job = state.queue.jobs().find(row.job.seq); job != nullptr && job->lease) {
    row.worker = job->lease->worker;
    if (const SessionBuild* build = build_of(state, *job).build) row.build_started_ms = build->started_ms;
  } else if (row.job.state == JobState::finished) {
    KQ_TRY_VALUE(const auto result, store::read_result(*state.store, row.job.seq, false));
    if (result) row.worker = result->worker;
  }
  return row;
}

// Cuts the page where the reply would exceed the limits of a message, because results may be long. One row always
// stays, because any one row fits.
void close_page(RunReply& page) {
  std::size_t bytes = 0;
  std::size_t items = 0;
  for (std::size_t i = 0; i < page.rows.size(); ++i) {
    const MessageSize row = message_size(page.rows[i]);
    bytes += row.bytes;
    items += row.items;
    if (i == 0 || (bytes <= kRunReplyBytesMax && items <= kRunReplyItemsMax)) continue;
    page.rows.erase(page.rows.begin() + static_cast<std::ptrdiff_t>(i), page.rows.end());
    page.more = true;
    return;
  }
}

std::size_t rows_max(std::uint32_t limit) {
  return std::min<std::size_t>(limit, kQueryRowsMax);
}

}  // namespace

Expected<void> answer(Step& step, const Caller& caller, const StatusQuery& query) {
  if (query.seqs.size() > kQuerySeqsMax) {
    return send_answer<StatusReply>(step, caller,
                                    bad_input(std::to_string(query.seqs.size()) + " jobs in one query, at most " +
                                              std::to_string(kQuerySeqsMax) + " are allowed"));
  }
  auto answers = statuses_of(step.state, query.seqs);
  if (!answers) return failure(std::move(answers.error()));
  // A request may be repeated without wait_ms. Then it is answered now, and not again later.
  step.state.watchers.drop(caller.peer, caller.request_id);
  const bool may_wait = query.wait_ms > 0 && !query.seqs.empty() && answers->jobs.size() == query.seqs.size() &&
                        std::none_of(answers->jobs.begin(), answers->jobs.end(),
                                     [](const JobStatus& job) { return job.state == JobState::finished; });
  const std::int64_t until_ms = step.now_ms + std::min(query.wait_ms, kQueryWaitMsMax);
  if (may_wait && step.state.watchers.add(
                      {.peer = caller.peer, .request_id = caller.request_id, .seqs = query.seqs, .until_ms = until_ms}))
    return {};
  return send_answer(step, caller, std::move(answers));
}

Expected<void> answer_watchers(Step& step) {
  for (const Watcher& watcher : step.state.watchers.take_due(step.now_ms)) {
    KQ_TRY_VALUE(auto answers, statuses_of(step.state, watcher.seqs));
    reply(step, {.peer = watcher.peer, .request_id = watcher.request_id}, std::move(answers));
  }
  if (const auto next = step.state.watchers.next_ms()) step.ready.wake_at(*next);
  return {};
}

Expected<void> answer(Step& step, const Caller& caller, const RunQuery& query) {
  if (const auto wrong = name_error(query.run)) return send_answer<RunReply>(step, caller, bad_input("run " + *wrong));
  auto page = store::read_run(*step.state.store, query);
  if (page) {
    KQ_TRY(conceal(step.state, caller, *page));
    close_page(*page);
  }
  return send_answer(step, caller, std::move(page));
}

Expected<void> answer(Step& step, const Caller& caller, const RunsQuery& query) {
  return send_answer(step, caller, store::read_runs(*step.state.store, query));
}

Expected<void> answer(Step& step, const Caller& caller, const BoardQuery& query) {
  return send_answer(step, caller, store::read_board(*step.state.store, query));
}

Expected<void> answer(Step& step, const Caller& caller, const BrokerQuery&) {
  const State& state = step.state;
  BrokerReply answers{.version = std::string(kVersion),
                      .queued = state.queue.scheduler().size() + state.queue.timers().waiting_count(),
                      .leased = state.queue.jobs().leased_count(),
                      .workers = {},
                      .has_keys = !caller.identity.name.empty()};
  for (const auto& [id, session] : state.workers.all()) {
    answers.workers.push_back({.worker = session.worker,
                               .devices = session.devices,
                               .running = static_cast<std::uint32_t>(session.leases.size() + session.builds.size()),
                               .last_seen_ms = session.last_seen_ms,
                               .labels = session.labels,
                               .draining = state.switches.draining.contains(session.worker),
                               .backends = session.backends,
                               .quarantined = session.quarantined,
                               .builds_for = session.builds_for,
                               .built_count = session.built_count,
                               .building = static_cast<std::uint32_t>(session.builds_in_progress.size()),
                               .build_started_ms = session.oldest_build_ms()});
  }
  return send_answer<BrokerReply>(step, caller, std::move(answers));
}

Expected<void> answer(Step& step, const Caller& caller, const JobsQuery& query) {
  JobsReply answers{.jobs = {}, .last_seq = query.after_seq};
  std::vector<JobRecord> found;
  std::optional<Error> damage;
  const auto visit = [&](std::string_view key, std::string_view value) {
    if (found.size() >= rows_max(query.limit)) {
      answers.more = true;
      return false;
    }
    answers.last_seq = store::sequence_from(key).value_or(0);
    auto record = decode<JobRecord>(value);
    if (!record) {
      damage = Error{ErrorKind::our_fault, "store, family 'state': " + record.error().message};
      return false;
    }
    if (record->state == query.state) found.push_back(std::move(*record));
    return true;
  };
  // Passing removed jobs costs as much as reading others, so an answer passes a limited number of sequences.
  const Sequence first = std::max(query.after_seq + 1, step.state.retention.from);
  const Sequence end = std::min<Sequence>(first + kJobsScannedMax, step.state.next_sequence);
  if (auto scanned =
          step.state.store->scan(store::Family::state, store::sequence_key(first), store::sequence_key(end), visit);
      !scanned)
    return scanned;
  if (!answers.more && end < step.state.next_sequence) {
    answers.more = true;
    answers.last_seq = end - 1;
  }
  if (damage) return failure(std::move(*damage));
  for (JobRecord& record : found) {
    KQ_TRY_VALUE(auto row, row_for(step.state, std::move(record)));
    answers.jobs.push_back(std::move(row));
  }
  return send_answer<JobsReply>(step, caller, std::move(answers));
}

Expected<void> answer(Step& step, const Caller& caller, const DeadQuery& query) {
  JobsReply answers{.jobs = {}, .last_seq = query.after_seq};
  std::vector<Sequence> seqs;
  const auto visit = [&](std::string_view key, std::string_view) {
    answers.more = seqs.size() >= rows_max(query.limit);
    if (!answers.more) seqs.push_back(store::sequence_from(key).value_or(0));
    return !answers.more;
  };
  const std::string first = store::sequence_key(query.after_seq + 1);
  KQ_TRY(step.state.store->scan(store::Family::dead, first, "", visit));
  for (const Sequence seq : seqs) {
    KQ_TRY_VALUE(auto record, store::read_job(*step.state.store, seq));
    if (!record) return our_fault("store, family 'dead': job " + std::to_string(seq) + " has no record");
    KQ_TRY_VALUE(auto row, row_for(step.state, std::move(*record)));
    answers.jobs.push_back(std::move(row));
    answers.last_seq = seq;
  }
  return send_answer<JobsReply>(step, caller, std::move(answers));
}

Expected<void> answer(Step& step, const Caller& caller, const QueueQuery& query) {
  const State& state = step.state;
  QueueReply answers{.lanes = {}, .waiting = state.queue.timers().waiting_count()};
  // There may be a lane for each of many submitters, so their names are copied for one page only.
  struct Ranked {
    std::tuple<bool, bool, int, std::int64_t> rank;
    const store::LaneId* id;
    const Lane* lane;
  };
  std::map<std::uint32_t, bool> served;
  std::vector<Ranked> all;
  for (const auto& [id, entry] : state.queue.scheduler().lanes()) {
    const auto [is_served, is_new] = served.try_emplace(id.needs);
    if (is_new) is_served->second = may_be_taken(state, *state.queue.scheduler().classes.name(id.needs));
    const bool paused = state.switches.paused.contains("") ||
                        state.switches.paused.contains(*state.queue.scheduler().submitters.name(id.submitter));
    const std::int64_t oldest_ms = entry.lane.head() == nullptr ? 0 : entry.lane.head()->submitted_at_ms;
    all.push_back({.rank = {paused, !is_served->second, -static_cast<int>(id.priority), oldest_ms},
                   .id = &id,
                   .lane = &entry.lane});
  }
  std::stable_sort(all.begin(), all.end(), [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  const std::size_t first = std::min<std::size_t>(query.skip, all.size());
  const std::size_t end = std::min(first + rows_max(query.limit), all.size());
  for (const Ranked& one : std::span(all).subspan(first, end - first)) {
    const auto& [paused, unserved, priority, oldest_ms] = one.rank;
    answers.lanes.push_back({.needs = *state.queue.scheduler().classes.name(one.id->needs),
                             .priority = one.id->priority,
                             .submitter = *state.queue.scheduler().submitters.name(one.id->submitter),
                             .queued = one.lane->size(),
                             .oldest_ms = oldest_ms,
                             .served = !unserved,
                             .paused = paused});
  }
  answers.more = end < all.size();
  return send_answer<QueueReply>(step, caller, std::move(answers));
}

Expected<void> answer(Step& step, const Caller& caller, const StatsQuery&) {
  return send_answer<StatsReply>(step, caller, StatsReply{metrics_of(step.state, step.now_ms)});
}

}  // namespace kq::broker
