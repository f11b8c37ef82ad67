#include "producer/gateway/broker/broker_service.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

#include "core/bytes/hash.h"
#include "core/limits.h"
#include "producer/client/label_order.h"
#include "sys/clock.h"

namespace kq::gateway {
namespace {

constexpr std::size_t kRandomDigits = 16;
constexpr std::size_t kLanePagesMax = 64;  // pages of the queue that are read to count a submitter's jobs

Error not_found(const JobId& id) {
  return {ErrorKind::not_found, "there is no job " + id.text()};
}

// Names the run as its submitter does. A job that several submitters asked for also names the others, who are hidden.
void hide_others(const Submitter& submitter, const std::string& run, RunRow& row) {
  row.run = run;
  if (submitter.name.empty()) return;
  row.job.run = run;
  row.job.submitter = row.entry.submitter = submitter.name;
  row.job.first_submitter.clear();
  row.job.also_for.clear();
}

bool any_finished(const std::vector<JobStatus>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(), [](const JobStatus& job) { return job.state == JobState::finished; });
}

}  // namespace

Expected<std::string> broker_run(const Submitter& submitter, const std::string& run) {
  if (const auto wrong = name_error(run)) return bad_input("the run's name " + *wrong);
  if (submitter.name.empty()) return run;
  std::string name = submitter.name + "/" + run;
  if (name.size() > kNameBytesMax) {
    return bad_input("the run's name has " + std::to_string(run.size()) + " bytes, this submitter's runs may have " +
                     std::to_string(kNameBytesMax - submitter.name.size() - 1));
  }
  return name;
}

std::string own_run(const Submitter& submitter, const std::string& broker_run) {
  return submitter.name.empty() ? broker_run : broker_run.substr(submitter.name.size() + 1);
}

std::optional<std::string> BrokerService::counted_as(const Submitter& submitter) const {
  if (key_.name.empty()) return submitter.name;
  return key_.role == Role::gateway ? std::optional(key_.name + "/" + submitter.name) : std::nullopt;
}

// Returns how many jobs the submitter may queue now.
Expected<std::size_t> BrokerService::room_for(const Submitter& submitter) {
  const auto name = counted_as(submitter);
  if (submitter.jobs_max == 0 || !name) return std::numeric_limits<std::size_t>::max();
  std::uint64_t queued = 0;
  std::uint32_t skip = 0;
  for (std::size_t page = 0; page < kLanePagesMax; ++page) {
    KQ_TRY_VALUE(const QueueReply reply, calls_.ask_for<QueueReply>(QueueQuery{.limit = kQueryRowsMax, .skip = skip}));
    for (const LaneRow& lane : reply.lanes) queued += lane.submitter == *name ? lane.queued : 0;
    if (!reply.more) break;
    skip += static_cast<std::uint32_t>(reply.lanes.size());
  }
  return submitter.jobs_max > queued ? submitter.jobs_max - queued : 0;
}

Expected<std::vector<SubmittedJob>> BrokerService::submit(const Submitter& submitter, const std::string& run,
                                                          std::span<const producer::PackedJob> jobs) {
  KQ_TRY_VALUE(const std::string name, broker_run(submitter, run));
  KQ_TRY_VALUE(const std::size_t room, room_for(submitter));
  std::vector<SubmittedJob> submitted;
  submitted.reserve(jobs.size());
  const auto add = [&](JobAck ack) {
    const std::string& label = jobs[submitted.size()].submission.label;
    SubmittedJob& job =
        submitted.emplace_back(SubmittedJob{.id = {.seq = ack.seq, .run = run, .label = label}, .ack = {}});
    job.ack = std::move(ack);
  };
  const auto within_quota = jobs.first(std::min(jobs.size(), room));
  while (submitted.size() < within_quota.size()) {
    KQ_TRY_VALUE(SubmitBatch batch, producer::next_batch(name, within_quota.subspan(submitted.size())));
    batch.submitter = submitter.name.empty() ? own_name_ : submitter.name;
    KQ_TRY_VALUE(SubmitAck ack, calls_.ask_for<SubmitAck>(batch));
    if (ack.jobs.size() != batch.jobs.size())
      return our_fault("the broker answered " + std::to_string(batch.jobs.size()) + " jobs with " +
                       std::to_string(ack.jobs.size()) + " acknowledgements");
    for (JobAck& one : ack.jobs) add(std::move(one));
  }
  while (submitted.size() < jobs.size()) {
    add({.acceptance = Acceptance::busy,
         .reason = "submitter " + submitter.name + " may have " + std::to_string(submitter.jobs_max) +
                   " queued jobs, the quota of its token",
         .retry_after_ms = 1'000 * kRetryAfterSeconds});
  }
  return submitted;
}

Expected<RunRow> BrokerService::find(const Submitter& submitter, const JobId& id, bool with_samples) {
  KQ_TRY_VALUE(RunRow row, row_of(submitter, id, with_samples));
  hide_others(submitter, id.run, row);
  return row;
}

Expected<RunRow> BrokerService::row_of(const Submitter& submitter, const JobId& id, bool with_samples) {
  const auto run = broker_run(submitter, id.run);
  if (!run) return failure(not_found(id));  // no run of this submitter has such a name
  KQ_TRY_VALUE(
      RunReply page,
      calls_.ask_for<RunReply>(RunQuery{
          .run = *run, .after_label = producer::before_label(id.label), .limit = 1, .with_samples = with_samples}));
  if (page.rows.empty() || page.rows[0].entry.submission.label != id.label) return failure(not_found(id));
  if (page.rows[0].entry.seq != id.seq) {
    return failure(Error{ErrorKind::not_found, "job " + std::to_string(id.seq) + " was replaced by job " +
                                                   std::to_string(page.rows[0].entry.seq) +
                                                   ", which was submitted later under the same run and label"});
  }
  return std::move(page.rows[0]);
}

Expected<RunRow> BrokerService::wait(const Submitter& submitter, const JobId& id, std::int64_t wait_ms,
                                     bool with_samples, const std::function<bool()>& abandoned) {
  const Sequence jobs[] = {id.seq};
  if (wait_ms > 0) KQ_TRY(wait_any(jobs, wait_ms, abandoned));
  return find(submitter, id, with_samples);
}

Expected<std::vector<JobStatus>> BrokerService::wait_any(std::span<const Sequence> jobs, std::int64_t wait_ms,
                                                         const std::function<bool()>& abandoned) {
  const std::int64_t deadline_ms = sys::monotonic_now_ms() + wait_ms;
  StatusQuery query{.seqs = {jobs.begin(), jobs.end()}, .wait_ms = 0};
  for (;;) {
    const std::int64_t asked_ms = sys::monotonic_now_ms();
    const std::int64_t part_ms = std::clamp<std::int64_t>(deadline_ms - asked_ms, 0, kWaitPartMs);
    query.wait_ms = static_cast<std::uint32_t>(part_ms);
    // A wait outlives a broker that is away for a while, as long as it has time itself.
    const std::int64_t patience_ms = std::max(kCallTimeoutMs, deadline_ms - asked_ms);
    KQ_TRY_VALUE(StatusReply reply,
                 calls_.ask_for<StatusReply>(query, {.timeout_ms = patience_ms, .abandoned = abandoned}));
    const std::int64_t now_ms = sys::monotonic_now_ms();
    if (any_finished(reply.jobs) || reply.jobs.size() < jobs.size() || now_ms >= deadline_ms)
      return std::move(reply.jobs);
    if (abandoned && abandoned()) return failure(Error{ErrorKind::interrupted, "the client has gone"});
    if (now_ms - asked_ms < std::min(part_ms, kNoRoomPauseMs)) {
      const std::int64_t pause_ms = std::min(kNoRoomPauseMs, deadline_ms - now_ms);
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
  }
}

Expected<JobStatus> BrokerService::status(const Submitter& submitter, const JobId& id) {
  KQ_TRY(find(submitter, id, false));
  KQ_TRY_VALUE(StatusReply reply, calls_.ask_for<StatusReply>(StatusQuery{.seqs = {id.seq}, .wait_ms = 0}));
  if (reply.jobs.empty()) return failure(not_found(id));
  return std::move(reply.jobs[0]);
}

// The broker takes the job from the submitter, and ends it where no other asked for the same work. Where the broker
// counts every job as the gateway's, the submitter who asked last ends it.
Expected<JobAction> BrokerService::cancel(const Submitter& submitter, const JobId& id) {
  KQ_TRY_VALUE(const RunRow row, row_of(submitter, id, false));
  const std::string foreign = "another submitter asked for the same work; only that one may cancel the job";
  const bool is_counted_apart = counted_as(submitter).has_value();
  if (!is_counted_apart && !submitter.name.empty() && !row.job.run.starts_with(submitter.name + "/"))
    return JobAction{.seq = id.seq, .done = false, .state = row.job.state, .reason = foreign};
  const CancelJobs request{.seqs = {id.seq}, .submitter = is_counted_apart ? submitter.name : ""};
  KQ_TRY_VALUE(ActionReply reply, calls_.ask_for<ActionReply>(request));
  if (reply.jobs.size() != 1) return our_fault("the broker answered the cancellation of a job without the job");
  JobAction action = std::move(reply.jobs[0]);
  if (!action.done && action.state != JobState::finished) action.reason = foreign;  // the broker's names the other
  return action;
}

Expected<FileReply> BrokerService::file(const Submitter& submitter, const JobId& id, const Hash& hash) {
  KQ_TRY_VALUE(const RunRow row, row_of(submitter, id, false));
  const Submission& submission = row.entry.submission;
  const bool is_there = submission.problem.hash == hash ||
                        std::ranges::any_of(submission.files, [&](const SourceFile& one) { return one.hash == hash; });
  if (!is_there) {
    return failure(Error{ErrorKind::not_found, "job " + id.text() + " has no file with the SHA-256 " + to_hex(hash)});
  }
  KQ_TRY_VALUE(const std::string run, broker_run(submitter, id.run));
  return calls_.ask_for<FileReply>(FileQuery{.run = run, .label = id.label, .hash = hash});
}

Expected<RunsReply> BrokerService::runs(const Submitter& submitter, const RunsQuery& query) {
  if (submitter.name.empty()) return calls_.ask_for<RunsReply>(query);
  const std::string prefix = submitter.name + "/";
  KQ_TRY_VALUE(RunsReply reply,
               calls_.ask_for<RunsReply>(RunsQuery{.after = prefix + query.after, .limit = query.limit}));
  const auto is_other = [&](const KnownRun& run) { return !run.run.starts_with(prefix); };
  const auto end = std::find_if(reply.runs.begin(), reply.runs.end(), is_other);
  if (end != reply.runs.end()) reply.more = false;
  reply.runs.erase(end, reply.runs.end());
  for (KnownRun& run : reply.runs) {
    run.run = own_run(submitter, run.run);
    run.submitter = submitter.name;
  }
  return reply;
}

Expected<RunReply> BrokerService::run_page(const Submitter& submitter, const RunQuery& query) {
  RunQuery own = query;
  KQ_TRY_VALUE(own.run, broker_run(submitter, query.run));
  KQ_TRY_VALUE(RunReply reply, calls_.ask_for<RunReply>(own));
  for (RunRow& row : reply.rows) hide_others(submitter, query.run, row);
  return reply;
}

Expected<BoardReply> BrokerService::board_page(const BoardQuery& query) {
  return calls_.ask_for<BoardReply>(query);
}

template <class Reply, class Query>
Expected<Reply> BrokerService::cached(Cached<Reply>& cache) {
  const std::lock_guard lock(cache.mutex);
  if (!cache.reply || sys::monotonic_now_ms() - cache.at_ms >= kBrokerStateAgeMs) {
    cache.reply.emplace(calls_.ask_for<Reply>(Query{}, {.timeout_ms = kBrokerStateTimeoutMs}));
    cache.at_ms = sys::monotonic_now_ms();
  }
  return *cache.reply;
}

Expected<BrokerReply> BrokerService::broker() {
  return cached<BrokerReply, BrokerQuery>(broker_);
}

Expected<StatsReply> BrokerService::statistics() {
  return cached<StatsReply, StatsQuery>(statistics_);
}

Expected<VisibleJobs> BrokerService::visible_jobs(const Submitter& submitter, const JobsQuery& query) {
  VisibleJobs visible;
  KQ_TRY_VALUE(visible.reply, calls_.ask_for<JobsReply>(query));
  if (submitter.name.empty()) return visible;
  const std::string prefix = submitter.name + "/";
  visible.hidden_count =
      std::erase_if(visible.reply.jobs, [&](const JobRow& row) { return !row.job.run.starts_with(prefix); });
  for (JobRow& row : visible.reply.jobs) {
    row.job.run = own_run(submitter, row.job.run);
    row.job.submitter = submitter.name;
    row.job.first_submitter.clear();
    row.job.also_for.clear();
  }
  return visible;
}

Expected<QueueReply> BrokerService::lanes(const QueueQuery& query) {
  return calls_.ask_for<QueueReply>(query);
}

Expected<JobAction> BrokerService::retry(Sequence seq) {
  KQ_TRY_VALUE(ActionReply reply, calls_.ask_for<ActionReply>(RetryJobs{{seq}}));
  if (reply.jobs.size() != 1) return our_fault("the broker answered a retry of a job without the job");
  return std::move(reply.jobs[0]);
}

Expected<void> BrokerService::pause(const Pause& request) {
  KQ_TRY(calls_.ask_for<Done>(request));
  return {};
}

Expected<void> BrokerService::drain(const Drain& request) {
  KQ_TRY(calls_.ask_for<Done>(request));
  return {};
}

std::int64_t BrokerService::now_ms() const {
  return sys::unix_now_ms();
}

std::string BrokerService::random_name() const {
  std::array<char, 16> bytes{};
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
  }
  return to_hex(sha256({bytes.data(), bytes.size()})).substr(0, kRandomDigits);
}

}  // namespace kq::gateway
