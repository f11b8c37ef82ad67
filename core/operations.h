// Messages of the client socket that inspect and operate the queue. The other client messages are in core/messages.h.
//
// A query needs no special right but FileQuery, a submitter may cancel its own jobs and share its own runs, and every
// other message needs Role::admin. Each message is idempotent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/bytes/shared_bytes.h"
#include "core/records.h"

namespace kq {

// ---- client -> broker -----------------------------------------------------------------------------------------------

// Cancels these queued or leased jobs, at most kQuerySeqsMax, for one submitter. A job that no other submitter asked
// for ends as `cancelled`, and the broker revokes its lease; another job goes on. A job ends for all submitters if an
// admin cancels it, or a client of a broker without keys, and names no submitter.
struct CancelJobs {
  std::vector<Sequence> seqs;
  std::string submitter{};  // as in SubmitBatch
};
// Queues these finished jobs again, if their verdicts are not terminal (abandoned, cancelled, expired, ...). Their
// failure counts are reset, and they are removed from the dead letters.
struct RetryJobs {
  std::vector<Sequence> seqs;
};
// Removes these jobs from the dead letters. The jobs themselves do not change.
struct PurgeDead {
  std::vector<Sequence> seqs;
};
// Stops or resumes leasing of this submitter's jobs (empty: of all jobs). Leased jobs continue. The setting survives a
// restart of the broker.
struct Pause {
  std::string submitter;
  bool paused = true;
};
// Stops or resumes leasing to this worker. Its leased jobs continue. The setting survives restarts of the broker and of
// the worker.
struct Drain {
  std::string worker;
  bool draining = true;
};
// Asks for jobs in this state in the order of sequence numbers, after `after_seq`. The reply has at most
// min(limit, kQueryRowsMax) jobs. The broker reads at most kJobsScannedMax jobs for one reply, so a reply may have no
// jobs although more follow; `last_seq` says where the next query continues.
struct JobsQuery {
  JobState state = JobState::queued;
  Sequence after_seq = 0;
  std::uint32_t limit = 0;
};
// Asks for dead letters in the order of sequence numbers, after `after_seq`. The reply has at most
// min(limit, kQueryRowsMax) jobs.
struct DeadQuery {
  Sequence after_seq = 0;
  std::uint32_t limit = 0;
};
// Asks for the lanes of queued jobs, in the order in which they are due. The reply has at most
// min(limit, kQueryRowsMax) lanes after the first `skip`. A lane whose place changes between two queries may be in both
// replies or in neither.
struct QueueQuery {
  std::uint32_t limit = 0;
  std::uint32_t skip = 0;
};
// Asks for runs in the order of names, after the one named `after` (empty: from the start). The reply has at most
// min(limit, kQueryRowsMax) runs.
struct RunsQuery {
  std::string after;
  std::uint32_t limit = 0;
};
// Lets others add rows to a run and read its sources, or no longer. The run gets the caller as its owner if it has
// none. Only the owner and an admin may share a run, which has at most kShareNamesMax names.
struct ShareRun {
  std::string run;
  std::vector<std::string> names;
  bool shared = true;
  std::string submitter{};  // as in SubmitBatch
};
// Asks for the bytes of a file of one row: a source or the problem. With keys only the row's submitter, the owner of
// the run, those with whom the run is shared, and admins get them.
struct FileQuery {
  std::string run;
  std::string label;
  Hash hash;
};
// Asks for all metrics of the broker.
struct StatsQuery {};
// Copies the present state of the store into a directory of the broker's machine. The path is absolute, and the
// directory must be absent or empty.
struct Backup {
  std::string dir;
};

// ---- broker -> client -----------------------------------------------------------------------------------------------

struct JobAction {
  Sequence seq = 0;
  bool done = false;                  // also true where the job was in the wanted state before
  JobState state = JobState::queued;  // the state after the action
  std::string reason;                 // why the action was not done, or that it was not necessary
};
// One JobAction for each job of the request, in the same order.
struct ActionReply {
  std::vector<JobAction> jobs;
};
// The request is done, and its effect is on disk.
struct Done {};
struct JobRow {
  JobRecord job;
  std::string label;
  std::string author;
  std::string worker;                 // the worker that runs or ran the job; empty while the job is queued
  std::int64_t build_started_ms = 0;  // the Unix time at which the worker began to build the job; 0: no build runs
};
struct JobsReply {
  std::vector<JobRow> jobs;
  Sequence last_seq = 0;  // `after_seq` of the next query, where `more` is true
  bool more = false;
};
// The queued jobs of one submitter with the same requirements and priority.
struct LaneRow {
  Requirements needs;
  Priority priority = Priority::normal;
  std::string submitter;
  std::uint64_t queued = 0;
  std::int64_t oldest_ms = 0;  // the Unix time at which the first job of the lane was submitted
  bool served = false;         // whether a connected worker can run these jobs
  bool paused = false;
};
struct QueueReply {
  std::vector<LaneRow> lanes;
  std::uint64_t waiting = 0;  // queued jobs that may not run yet, which are in no lane
  bool more = false;
};
struct KnownRun {
  std::string run;
  std::string submitter;             // the owner of the run; without keys the submitter of its first label
  std::int64_t submitted_at_ms = 0;  // the Unix time at which that label was last submitted
};
struct RunsReply {
  std::vector<KnownRun> runs;
  bool more = false;
};
struct FileReply {
  std::string name;
  Hash hash;  // the SHA-256 of the bytes
  SharedBytes bytes;
};
// One sample of a Prometheus metric, such as kq_jobs_finished_total{verdict="passed"} 17.
struct Metric {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};
struct StatsReply {
  std::vector<Metric> metrics;
};

template <class V>
void fields(V& v, CancelJobs& x) {
  v("seqs", x.seqs);
  v("submitter", x.submitter);
}
template <class V>
void fields(V& v, ShareRun& x) {
  v("run", x.run);
  v("names", x.names);
  v("shared", x.shared);
  v("submitter", x.submitter);
}
template <class V>
void fields(V& v, FileQuery& x) {
  v("run", x.run);
  v("label", x.label);
  v("hash", x.hash);
}
template <class V>
void fields(V& v, FileReply& x) {
  v("name", x.name);
  v("hash", x.hash);
  v("bytes", x.bytes);
}
template <class V>
void fields(V& v, RetryJobs& x) {
  v("seqs", x.seqs);
}
template <class V>
void fields(V& v, PurgeDead& x) {
  v("seqs", x.seqs);
}
template <class V>
void fields(V& v, Pause& x) {
  v("submitter", x.submitter);
  v("paused", x.paused);
}
template <class V>
void fields(V& v, Drain& x) {
  v("worker", x.worker);
  v("draining", x.draining);
}
template <class V>
void fields(V& v, JobsQuery& x) {
  v("state", x.state);
  v("after_seq", x.after_seq);
  v("limit", x.limit);
}
template <class V>
void fields(V& v, DeadQuery& x) {
  v("after_seq", x.after_seq);
  v("limit", x.limit);
}
template <class V>
void fields(V& v, QueueQuery& x) {
  v("limit", x.limit);
  v("skip", x.skip);
}
template <class V>
void fields(V& v, RunsQuery& x) {
  v("after", x.after);
  v("limit", x.limit);
}
template <class V>
void fields(V&, StatsQuery&) {}
template <class V>
void fields(V& v, Backup& x) {
  v("dir", x.dir);
}
template <class V>
void fields(V& v, JobAction& x) {
  v("seq", x.seq);
  v("done", x.done);
  v("state", x.state);
  v("reason", x.reason);
}
template <class V>
void fields(V& v, ActionReply& x) {
  v("jobs", x.jobs);
}
template <class V>
void fields(V&, Done&) {}
template <class V>
void fields(V& v, JobRow& x) {
  v("job", x.job);
  v("label", x.label);
  v("author", x.author);
  v("worker", x.worker);
  v("build_started_ms", x.build_started_ms);
}
template <class V>
void fields(V& v, JobsReply& x) {
  v("jobs", x.jobs);
  v("last_seq", x.last_seq);
  v("more", x.more);
}
template <class V>
void fields(V& v, KnownRun& x) {
  v("run", x.run);
  v("submitter", x.submitter);
  v("submitted_at_ms", x.submitted_at_ms);
}
template <class V>
void fields(V& v, RunsReply& x) {
  v("runs", x.runs);
  v("more", x.more);
}
template <class V>
void fields(V& v, LaneRow& x) {
  v("needs", x.needs);
  v("priority", x.priority);
  v("submitter", x.submitter);
  v("queued", x.queued);
  v("oldest_ms", x.oldest_ms);
  v("served", x.served);
  v("paused", x.paused);
}
template <class V>
void fields(V& v, QueueReply& x) {
  v("lanes", x.lanes);
  v("waiting", x.waiting);
  v("more", x.more);
}
template <class V>
void fields(V& v, Metric& x) {
  v("name", x.name);
  v("labels", x.labels);
  v("value", x.value);
}
template <class V>
void fields(V& v, StatsReply& x) {
  v("metrics", x.metrics);
}

template <>
struct AlternativeName<CancelJobs> {
  static constexpr std::string_view value = "cancel_jobs";
};
template <>
struct AlternativeName<RetryJobs> {
  static constexpr std::string_view value = "retry_jobs";
};
template <>
struct AlternativeName<PurgeDead> {
  static constexpr std::string_view value = "purge_dead";
};
template <>
struct AlternativeName<Pause> {
  static constexpr std::string_view value = "pause";
};
template <>
struct AlternativeName<Drain> {
  static constexpr std::string_view value = "drain";
};
template <>
struct AlternativeName<JobsQuery> {
  static constexpr std::string_view value = "jobs_query";
};
template <>
struct AlternativeName<DeadQuery> {
  static constexpr std::string_view value = "dead_query";
};
template <>
struct AlternativeName<QueueQuery> {
  static constexpr std::string_view value = "queue_query";
};
template <>
struct AlternativeName<RunsQuery> {
  static constexpr std::string_view value = "runs_query";
};
template <>
struct AlternativeName<ShareRun> {
  static constexpr std::string_view value = "share_run";
};
template <>
struct AlternativeName<FileQuery> {
  static constexpr std::string_view value = "file_query";
};
template <>
struct AlternativeName<FileReply> {
  static constexpr std::string_view value = "file_reply";
};
template <>
struct AlternativeName<StatsQuery> {
  static constexpr std::string_view value = "stats_query";
};
template <>
struct AlternativeName<Backup> {
  static constexpr std::string_view value = "backup";
};
template <>
struct AlternativeName<ActionReply> {
  static constexpr std::string_view value = "action_reply";
};
template <>
struct AlternativeName<Done> {
  static constexpr std::string_view value = "done";
};
template <>
struct AlternativeName<JobsReply> {
  static constexpr std::string_view value = "jobs_reply";
};
template <>
struct AlternativeName<QueueReply> {
  static constexpr std::string_view value = "queue_reply";
};
template <>
struct AlternativeName<RunsReply> {
  static constexpr std::string_view value = "runs_reply";
};
template <>
struct AlternativeName<StatsReply> {
  static constexpr std::string_view value = "stats_reply";
};

}  // namespace kq
