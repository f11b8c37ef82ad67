// THE WIRE PROTOCOL. Producers and tools use the client messages, and workers use the worker messages. Only the broker
// listens.
//
// One message is the msgpack array [kProtocolVersion, request_id, [name, body]]. A reply has the request_id of its
// request, and a message without a request has the request_id 0. Every message may arrive late, twice or never, so a
// peer that needs a reply sends the same message again until the reply comes. Sizes and counts are limited by
// core/limits.h. A message that exceeds a limit or is malformed is refused with a reason. The requests of operators and
// their replies, CancelJobs to RunsReply, are in core/operations.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/build_object.h"
#include "core/bytes/compress.h"
#include "core/bytes/shared_bytes.h"
#include "core/device.h"
#include "core/leaderboard.h"
#include "core/operations.h"
#include "core/records.h"

namespace kq {

inline constexpr std::uint32_t kProtocolVersion = 1;

// A source or problem file. `hash` is the SHA-256 of the unpacked content, which the receiver checks. The content has
// at most kFileBytesMax bytes, however it is packed.
struct Blob {
  Hash hash;
  SharedBytes bytes;
  Packing packing = Packing::raw;

  friend bool operator==(const Blob&, const Blob&) = default;
};

// ---- client -> broker -----------------------------------------------------------------------------------------------

// Asks the broker to accept these jobs for this run. The request is idempotent, because the key of a submission decides
// whether the job is new. A batch has at most kSubmitJobsMax jobs, at most kSubmitBytesMax bytes of blobs, which are at
// most kSubmitContentBytesMax when unpacked, and at most as many blobs as the jobs may have files. Every blob that a
// job needs is in the batch or already in the store. With keys it is in the batch, or the same submitter has sent its
// bytes before; and the run must be the submitter's own or shared with the submitter.
struct SubmitBatch {
  std::string run;
  std::vector<Submission> jobs;
  std::vector<Blob> blobs;
  // The name whose share and quota the jobs count against. With keys it is KEY, or KEY/NAME for the role gateway.
  std::string submitter{};
};
// Asks for the states of at most kQuerySeqsMax jobs. With `wait_ms` the broker may delay the reply until one of the
// jobs is finished or the time has passed; it replies at once where a job is already finished or is unknown. A query
// that is sent again with the same request_id replaces the earlier one.
struct StatusQuery {
  std::vector<Sequence> seqs;
  std::uint32_t wait_ms = 0;  // a higher value than kQueryWaitMsMax counts as kQueryWaitMsMax
};
// Asks for rows of a run in the order of labels, after `after_label` (empty: from the start). The reply has at most
// min(limit, kQueryRowsMax) rows.
struct RunQuery {
  std::string run;
  std::string after_label;
  std::uint32_t limit = 0;
  bool with_samples = false;
  bool with_reruns = false;  // whether the rows have their reruns
};
// Asks for rows of all boards in the order of keys, after `after_key` (raw bytes of a key; empty: from the start).
struct BoardQuery {
  std::string after_key;
  std::uint32_t limit = 0;
};
// Asks for the state of the broker and its workers.
struct BrokerQuery {};

// ---- broker -> client -----------------------------------------------------------------------------------------------

// `accepted` means that a job is queued, new or again; `reused` that a job with the same key exists. `busy` refuses it
// for now because a quota, the queue or the disk is full: the same job may be sent again after retry_after_ms.
enum class Acceptance { accepted, reused, refused, busy };
constexpr std::array<std::string_view, 4> enum_names(Acceptance) {
  return {"accepted", "reused", "refused", "busy"};
}

struct JobAck {
  Acceptance acceptance = Acceptance::refused;
  Sequence seq = 0;  // 0 when refused or busy
  JobState state = JobState::queued;
  std::string reason;                // why the job is refused or busy; otherwise empty
  std::uint32_t retry_after_ms = 0;  // for a busy job
};
// One JobAck for each job of the batch, in the same order. The accepted jobs are on disk.
struct SubmitAck {
  std::vector<JobAck> jobs;
};
// The reason why a queued job does not run yet.
enum class WaitReason { none, behind, no_worker, not_before, after_failure, paused, draining };
constexpr std::array<std::string_view, 7> enum_names(WaitReason) {
  return {"none", "behind", "no_worker", "not_before", "after_failure", "paused", "draining"};
}
struct JobStatus {
  Sequence seq = 0;
  JobState state = JobState::queued;
  Attempt attempt = 0;
  std::string verdict;                // the name of the verdict of a finished job
  bool served = false;                // whether a connected worker can run a queued job
  WaitReason why = WaitReason::none;  // for a queued job
  // For `behind`: the place among the queued jobs of the same submitter, priority and requirements, counted from 1.
  std::uint64_t position = 0;
  // For `behind`: the number of jobs of all submitters that the same workers could run and that rank at least as high.
  std::uint64_t ahead = 0;
  std::int64_t until_ms = 0;  // for `not_before` and `after_failure`: the Unix time from which the job may run
  std::string worker{};       // the worker that has the lease of a leased job, or builds a queued job in advance
  std::int64_t build_started_ms = 0;  // the Unix time at which that worker began to build the job; 0: no build runs
  bool builds_extensions = false;     // whether that build compiles extensions of torch
};
// One JobStatus for each known job, in the order of the query. The reply has no entry for an unknown job.
struct StatusReply {
  std::vector<JobStatus> jobs;
};
struct RunReply {
  std::vector<RunRow> rows;
  bool more = false;
};
struct BoardReply {
  std::vector<LeaderboardRow> rows;
  std::string last_key;
  bool more = false;
};
struct WorkerStatus {
  std::string worker;
  std::vector<DeviceInfo> devices;
  std::uint32_t running = 0;
  std::int64_t last_seen_ms = 0;
  std::vector<std::string> labels{};
  bool draining = false;
  std::vector<Backend> backends{};         // empty: all
  std::vector<std::string> quarantined{};  // one sentence for each device that the worker no longer uses
  std::vector<DeviceInfo> builds_for{};    // as in Hello
  std::uint64_t built_count = 0;           // artifacts of the worker that the broker accepted since it connected
  std::uint32_t building = 0;              // the number of builds in progress, at most kHeartbeatBuildsMax
  std::int64_t build_started_ms = 0;       // the Unix time at which the longest of them began; 0: no build runs
};
struct BrokerReply {
  std::string version;
  std::uint64_t queued = 0;
  std::uint64_t leased = 0;
  std::vector<WorkerStatus> workers;
  bool has_keys = false;  // without keys every client may read every source and change every run
};
// The broker did not understand or did not allow the request, and did nothing of it.
struct Refused {
  std::string reason;
};

// ---- worker -> broker -----------------------------------------------------------------------------------------------

// The first message of a session, and the reply to each Unknown. Each worker process draws a random `epoch`, so that
// the broker can tell messages of an earlier process with the same identity from those of the present one.
struct Hello {
  std::string worker;
  std::uint64_t epoch = 0;
  std::vector<DeviceInfo> devices;
  std::uint32_t credit = 0;           // the number of leases that the worker wants to hold at once
  std::string evaluator;              // kEvaluatorVersion of the worker; the broker refuses any other than its own
  std::vector<std::string> labels{};  // sorted; a job may require some of them
  std::vector<Backend> backends{};    // the backends that work on this worker; empty: all
  // One sentence for each device that was not in a clean state after a job. It is not in `devices`.
  std::vector<std::string> quarantined{};
  // The kinds and architectures for which a builder, a worker that only builds, makes artifacts. A builder has no
  // devices, and its credit is a number of builds.
  std::vector<DeviceInfo> builds_for{};
};
struct LeaseId {
  Sequence seq = 0;
  Attempt attempt = 0;

  friend auto operator<=>(const LeaseId&, const LeaseId&) = default;
};
// A build that a worker runs at present.
struct BuildInProgress {
  LeaseId lease;  // with attempt 0 for a build of a BuildBatch
  std::uint32_t ms = 0;
  bool extensions = false;  // whether the build compiles extensions of torch
};
// Renews every lease in the list, and names the builds that the worker has. If two heartbeats in a row omit a lease,
// the worker has never received the lease: the broker counts a failure and queues the job again.
struct Heartbeat {
  std::uint64_t epoch = 0;
  std::vector<LeaseId> leases;
  // The builds in progress, the longest first, at most kHeartbeatBuildsMax. Older workers send none.
  std::vector<BuildInProgress> builds{};
  // The worker sends a heartbeat before its time because builds have become long or have ended. Such a heartbeat may
  // cross a lease on its way, so it does not count as one that omits a lease.
  bool early = false;
};
struct AttemptResult {
  LeaseId lease;
  Result result;
};
// A failure of kq itself in this attempt. The broker queues the job again, and after kAttemptsMax failures it ends the
// job as `abandoned` with this message as evidence.
struct AttemptError {
  LeaseId lease;
  std::string message;
};
struct ResultBatch {
  std::uint64_t epoch = 0;
  std::vector<AttemptResult> results;
  std::vector<AttemptError> errors;
};
// The end of one build of a BuildBatch. If there is no artifact, the worker that runs the job builds it again, and that
// worker reports the errors of the build.
struct BuildResult {
  std::uint64_t epoch = 0;
  LeaseId build;
  std::optional<BuildObject> object;  // the artifact
  std::string message;                // why there is no artifact, for people
};
// The worker disconnects. The broker queues its leased jobs again at once and does not count them as failures.
struct Goodbye {
  std::uint64_t epoch = 0;
};

// ---- broker -> worker -----------------------------------------------------------------------------------------------

struct Welcome {
  std::uint32_t heartbeat_ms = 0;  // the interval of heartbeats
  std::uint32_t lease_ms = 0;      // the time after which a lease expires unless it is renewed
};
// One job, given to one worker for one attempt.
struct Lease {
  LeaseId id;
  std::string run;
  Submission submission;
  std::vector<Blob> blobs;              // the files of the submission and of its problem
  DeviceInfo device;                    // the device of the worker on which the job is to run
  std::optional<BuildObject> object{};  // the artifact of a builder for such a device
};
struct LeaseBatch {
  std::uint64_t epoch = 0;
  std::vector<Lease> leases;
};
// Asks a builder to build these queued jobs for the given devices, of which only kind and architecture are set. The
// attempt of a build is 0, which no lease has.
struct BuildBatch {
  std::uint64_t epoch = 0;
  std::vector<Lease> builds;
};
// The worker need not send these results again, because they are on disk or belong to an attempt that is over.
struct ResultAck {
  std::vector<LeaseId> leases;
};
// Tells the worker to stop these jobs or builds and to send nothing more about them: the job was cancelled, its lease
// is no longer current, or the artifact of the build is no longer needed.
struct Revoke {
  std::vector<LeaseId> leases;
};
// The broker does not know this session, because it restarted or removed the worker. The worker sends Hello again and
// then a Heartbeat with the leases that it holds.
struct Unknown {};

// ---- the four directions --------------------------------------------------------------------------------------------

using ClientRequest =
    std::variant<SubmitBatch, StatusQuery, RunQuery, BoardQuery, BrokerQuery, CancelJobs, RetryJobs, PurgeDead, Pause,
                 Drain, JobsQuery, DeadQuery, QueueQuery, StatsQuery, Backup, RunsQuery, ShareRun, FileQuery>;
using ClientReply = std::variant<SubmitAck, StatusReply, RunReply, BoardReply, BrokerReply, Refused, ActionReply, Done,
                                 JobsReply, QueueReply, StatsReply, RunsReply, FileReply>;
using WorkerRequest = std::variant<Hello, Heartbeat, ResultBatch, Goodbye, BuildResult>;
using WorkerReply = std::variant<Welcome, LeaseBatch, ResultAck, Unknown, Refused, Revoke, BuildBatch>;

template <class Body>
struct Message {
  std::uint64_t request_id = 0;
  Body body;
};

template <>
struct AlternativeName<SubmitBatch> {
  static constexpr std::string_view value = "submit_batch";
};
template <>
struct AlternativeName<StatusQuery> {
  static constexpr std::string_view value = "status_query";
};
template <>
struct AlternativeName<RunQuery> {
  static constexpr std::string_view value = "run_query";
};
template <>
struct AlternativeName<BoardQuery> {
  static constexpr std::string_view value = "board_query";
};
template <>
struct AlternativeName<BrokerQuery> {
  static constexpr std::string_view value = "broker_query";
};
template <>
struct AlternativeName<SubmitAck> {
  static constexpr std::string_view value = "submit_ack";
};
template <>
struct AlternativeName<StatusReply> {
  static constexpr std::string_view value = "status_reply";
};
template <>
struct AlternativeName<RunReply> {
  static constexpr std::string_view value = "run_reply";
};
template <>
struct AlternativeName<BoardReply> {
  static constexpr std::string_view value = "board_reply";
};
template <>
struct AlternativeName<BrokerReply> {
  static constexpr std::string_view value = "broker_reply";
};
template <>
struct AlternativeName<Refused> {
  static constexpr std::string_view value = "refused";
};
template <>
struct AlternativeName<Hello> {
  static constexpr std::string_view value = "hello";
};
template <>
struct AlternativeName<Heartbeat> {
  static constexpr std::string_view value = "heartbeat";
};
template <>
struct AlternativeName<ResultBatch> {
  static constexpr std::string_view value = "result_batch";
};
template <>
struct AlternativeName<Goodbye> {
  static constexpr std::string_view value = "goodbye";
};
template <>
struct AlternativeName<Welcome> {
  static constexpr std::string_view value = "welcome";
};
template <>
struct AlternativeName<LeaseBatch> {
  static constexpr std::string_view value = "lease_batch";
};
template <>
struct AlternativeName<ResultAck> {
  static constexpr std::string_view value = "result_ack";
};
template <>
struct AlternativeName<Revoke> {
  static constexpr std::string_view value = "revoke";
};
template <>
struct AlternativeName<BuildResult> {
  static constexpr std::string_view value = "build_result";
};
template <>
struct AlternativeName<BuildBatch> {
  static constexpr std::string_view value = "build_batch";
};
template <>
struct AlternativeName<Unknown> {
  static constexpr std::string_view value = "unknown";
};

template <class V>
void fields(V& v, Blob& x) {
  v("hash", x.hash);
  v("bytes", x.bytes);
  v("packing", x.packing);
}
template <class V>
void fields(V& v, SubmitBatch& x) {
  v("run", x.run);
  v("jobs", x.jobs);
  v("blobs", x.blobs);
  v("submitter", x.submitter);
}
template <class V>
void fields(V& v, StatusQuery& x) {
  v("seqs", x.seqs);
  v("wait_ms", x.wait_ms);
}
template <class V>
void fields(V& v, RunQuery& x) {
  v("run", x.run);
  v("after_label", x.after_label);
  v("limit", x.limit);
  v("with_samples", x.with_samples);
  v("with_reruns", x.with_reruns);
}
template <class V>
void fields(V& v, BoardQuery& x) {
  v("after_key", x.after_key);
  v("limit", x.limit);
}
template <class V>
void fields(V&, BrokerQuery&) {}
template <class V>
void fields(V& v, JobAck& x) {
  v("acceptance", x.acceptance);
  v("seq", x.seq);
  v("state", x.state);
  v("reason", x.reason);
  v("retry_after_ms", x.retry_after_ms);
}
template <class V>
void fields(V& v, SubmitAck& x) {
  v("jobs", x.jobs);
}
template <class V>
void fields(V& v, JobStatus& x) {
  v("seq", x.seq);
  v("state", x.state);
  v("attempt", x.attempt);
  v("verdict", x.verdict);
  v("served", x.served);
  v("why", x.why);
  v("position", x.position);
  v("ahead", x.ahead);
  v("until_ms", x.until_ms);
  v("worker", x.worker);
  v("build_started_ms", x.build_started_ms);
  v("builds_extensions", x.builds_extensions);
}
template <class V>
void fields(V& v, StatusReply& x) {
  v("jobs", x.jobs);
}
template <class V>
void fields(V& v, RunReply& x) {
  v("rows", x.rows);
  v("more", x.more);
}
template <class V>
void fields(V& v, BoardReply& x) {
  v("rows", x.rows);
  v("last_key", x.last_key);
  v("more", x.more);
}
template <class V>
void fields(V& v, WorkerStatus& x) {
  v("worker", x.worker);
  v("devices", x.devices);
  v("running", x.running);
  v("last_seen_ms", x.last_seen_ms);
  v("labels", x.labels);
  v("draining", x.draining);
  v("backends", x.backends);
  v("quarantined", x.quarantined);
  v("builds_for", x.builds_for);
  v("built_n", x.built_count);
  v("building", x.building);
  v("build_started_ms", x.build_started_ms);
}
template <class V>
void fields(V& v, BrokerReply& x) {
  v("version", x.version);
  v("queued", x.queued);
  v("leased", x.leased);
  v("workers", x.workers);
  v("has_keys", x.has_keys);
}
template <class V>
void fields(V& v, Refused& x) {
  v("reason", x.reason);
}
template <class V>
void fields(V& v, Hello& x) {
  v("worker", x.worker);
  v("epoch", x.epoch);
  v("devices", x.devices);
  v("credit", x.credit);
  v("evaluator", x.evaluator);
  v("labels", x.labels);
  v("backends", x.backends);
  v("quarantined", x.quarantined);
  v("builds_for", x.builds_for);
}
template <class V>
void fields(V& v, LeaseId& x) {
  v("seq", x.seq);
  v("attempt", x.attempt);
}
template <class V>
void fields(V& v, BuildInProgress& x) {
  v("lease", x.lease);
  v("ms", x.ms);
  v("extensions", x.extensions);
}
template <class V>
void fields(V& v, Heartbeat& x) {
  v("epoch", x.epoch);
  v("leases", x.leases);
  v("builds", x.builds);
  v("early", x.early);
}
template <class V>
void fields(V& v, AttemptResult& x) {
  v("lease", x.lease);
  v("result", x.result);
}
template <class V>
void fields(V& v, AttemptError& x) {
  v("lease", x.lease);
  v("message", x.message);
}
template <class V>
void fields(V& v, ResultBatch& x) {
  v("epoch", x.epoch);
  v("results", x.results);
  v("errors", x.errors);
}
template <class V>
void fields(V& v, BuildResult& x) {
  v("epoch", x.epoch);
  v("build", x.build);
  v("object", x.object);
  v("message", x.message);
}
template <class V>
void fields(V& v, BuildBatch& x) {
  v("epoch", x.epoch);
  v("builds", x.builds);
}
template <class V>
void fields(V& v, Goodbye& x) {
  v("epoch", x.epoch);
}
template <class V>
void fields(V& v, Welcome& x) {
  v("heartbeat_ms", x.heartbeat_ms);
  v("lease_ms", x.lease_ms);
}
template <class V>
void fields(V& v, Lease& x) {
  v("id", x.id);
  v("run", x.run);
  v("submission", x.submission);
  v("blobs", x.blobs);
  v("device", x.device);
  v("object", x.object);
}
template <class V>
void fields(V& v, LeaseBatch& x) {
  v("epoch", x.epoch);
  v("leases", x.leases);
}
template <class V>
void fields(V& v, ResultAck& x) {
  v("leases", x.leases);
}
template <class V>
void fields(V& v, Revoke& x) {
  v("leases", x.leases);
}
template <class V>
void fields(V&, Unknown&) {}

}  // namespace kq
