// What people and tools ask of the queue itself: messages of the client socket beside those of core/messages.h.
//
// All but CancelJobs and the queries need Role::admin; a submitter may cancel its own jobs. Each is idempotent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/records.h"

namespace kq {

// ---- client -> broker
// --------------------------------------------------------------------------------------------------------------

// End these jobs as `cancelled`, queued or leased; their workers are told. At most kQuerySeqsMax.
struct CancelJobs {
  std::vector<Sequence> seqs;
};
// Queue these again: jobs whose verdict does not settle (abandoned, cancelled, expired, ...). Their failures are
// forgotten and they leave the dead letters.
struct RetryJobs {
  std::vector<Sequence> seqs;
};
// Strike these from the dead letters. The jobs stay as they ended.
struct PurgeDead {
  std::vector<Sequence> seqs;
};
// No new leases for this submitter's jobs (empty: for nobody's), or leases again. What runs goes on. Survives a
// restart.
struct Pause {
  std::string submitter;
  bool paused = true;
};
// No new leases for this worker, or leases again. What it has goes on. Survives a restart of either side.
struct Drain {
  std::string worker;
  bool draining = true;
};
// Jobs in this state by sequence, after `after_seq`. At most min(limit, kQueryRowsMax) come back, perhaps none although
// there are more: one answer looks at kJobsScannedMax jobs and says how far it came.
struct JobsQuery {
  JobState state = JobState::queued;
  Sequence after_seq = 0;
  std::uint32_t limit = 0;
};
// Dead letters by sequence, after `after_seq`. At most min(limit, kQueryRowsMax) come back.
struct DeadQuery {
  Sequence after_seq = 0;
  std::uint32_t limit = 0;
};
// What waits, by lane; the lanes that are due next come first. At most min(limit, kQueryRowsMax) come back, after the
// first `skip`: a lane that moves between two questions may be in both answers, or in none.
struct QueueQuery {
  std::uint32_t limit = 0;
  std::uint32_t skip = 0;
};
// Runs by name, after the one named `after` (empty: from the start). At most min(limit, kQueryRowsMax) come back.
struct RunsQuery {
  std::string after;
  std::uint32_t limit = 0;
};
// Every figure the broker keeps of itself.
struct StatsQuery {};
// A copy of the store as of now into this directory of the broker's machine: absolute, absent or empty.
struct Backup {
  std::string dir;
};

// ---- broker -> client
// --------------------------------------------------------------------------------------------------------------

struct JobAction {
  Sequence seq = 0;
  bool done = false;                  // also where it was so already
  JobState state = JobState::queued;  // as it is now
  std::string reason;                 // a sentence when not done, or when it was so already
};
// One JobAction per job asked for, in that order.
struct ActionReply {
  std::vector<JobAction> jobs;
};
// It is done and on disk.
struct Done {};
struct JobRow {
  JobRecord job;
  std::string label;
  std::string author;
  std::string worker;  // that runs it; empty while queued
};
struct JobsReply {
  std::vector<JobRow> jobs;
  Sequence last_seq = 0;  // where the next query goes on, while there is more
  bool more = false;
};
struct LaneRow {
  Requirements needs;
  Priority priority = Priority::normal;
  std::string submitter;
  std::uint64_t queued = 0;
  std::int64_t oldest_ms = 0;  // when its head was submitted, Unix time
  bool served = false;         // a connected worker can run it
  bool paused = false;
};
struct QueueReply {
  std::vector<LaneRow> lanes;
  std::uint64_t waiting = 0;  // queued jobs whose time has not come
  bool more = false;
};
struct KnownRun {
  std::string run;
  std::string submitter;             // these two of the job with its first label
  std::int64_t submitted_at_ms = 0;  // Unix time
};
struct RunsReply {
  std::vector<KnownRun> runs;
  bool more = false;
};
// A sample of a Prometheus metric: kq_jobs_finished_total{verdict="passed"} 17
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
