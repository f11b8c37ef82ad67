// THE WIRE PROTOCOL. Producers and tools speak the client messages, workers the worker messages; only the broker
// listens.
//
// One message is the msgpack array [kProtocolVersion, request_id, [name, body]]. A reply repeats the request_id of its
// request; messages the broker starts itself carry 0. Delivery is a hint: whoever needs an answer sends the same
// message again until it comes, and every message may arrive late, twice or never. Sizes and counts are bounded by
// core/limits.h; anything else is refused in words.
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

// The bytes of a source or problem file, named by the SHA-256 of the file itself; the receiver checks the name. Its
// content is at most kFileBytesMax, however it is packed.
struct Blob {
  Hash hash;
  SharedBytes bytes;
  Packing packing = Packing::raw;

  friend bool operator==(const Blob&, const Blob&) = default;
};

// ---- client -> broker
// --------------------------------------------------------------------------------------------------------------

// Accept these jobs for this run. Idempotent: the key of a submission decides whether it is new. At most kSubmitJobsMax
// jobs, kSubmitBytesMax blob bytes which are at most kSubmitContentBytesMax when unpacked, and as many blobs as the
// jobs may have files. Every blob a job needs is in this batch, or is already in the store.
struct SubmitBatch {
  std::string run;
  std::vector<Submission> jobs;
  std::vector<Blob> blobs;
  std::string
      submitter{};  // whose share and quota they count against; where keys are in use the key's name stands instead
};
// Where do these jobs stand? At most kQuerySeqsMax. With `wait_ms` the answer may wait until one of them is finished or
// so much time has passed; it comes at once where one is finished or unknown already. Sent again with the same
// request_id, it takes the place of the first.
struct StatusQuery {
  std::vector<Sequence> seqs;
  std::uint32_t wait_ms = 0;  // at most kQueryWaitMsMax count
};
// Rows of a run in label order, after `after_label` (empty: from the start). At most min(limit, kQueryRowsMax) come
// back.
struct RunQuery {
  std::string run;
  std::string after_label;
  std::uint32_t limit = 0;
  bool with_samples = false;
};
// Rows of all boards in key order, after `after_key` (raw key bytes, empty: from the start).
struct BoardQuery {
  std::string after_key;
  std::uint32_t limit = 0;
};
struct BrokerQuery {};

// ---- broker -> client
// --------------------------------------------------------------------------------------------------------------

// `busy` is a refusal for now: a quota, the queue or the disk is full. The same job may be sent again after
// retry_after_ms.
enum class Acceptance { accepted, reused, refused, busy };
constexpr std::array<std::string_view, 4> enum_names(Acceptance) {
  return {"accepted", "reused", "refused", "busy"};
}

struct JobAck {
  Acceptance acceptance = Acceptance::refused;
  Sequence seq = 0;  // 0 when refused or busy
  JobState state = JobState::queued;
  std::string reason;                // a sentence when refused or busy
  std::uint32_t retry_after_ms = 0;  // when busy
};
// One JobAck per job of the batch, in its order. What it says is on disk.
struct SubmitAck {
  std::vector<JobAck> jobs;
};
// Why a queued job does not run yet.
enum class WaitReason { none, behind, no_worker, not_before, after_failure, paused, draining };
constexpr std::array<std::string_view, 7> enum_names(WaitReason) {
  return {"none", "behind", "no_worker", "not_before", "after_failure", "paused", "draining"};
}
struct JobStatus {
  Sequence seq = 0;
  JobState state = JobState::queued;
  Attempt attempt = 0;
  std::string verdict;                // its name when finished
  bool served = false;                // while queued: a connected worker can run it
  WaitReason why = WaitReason::none;  // while queued
  std::uint64_t position =
      0;  // `behind`: its place among its submitter's jobs of the same priority and requirements, from 1
  std::uint64_t ahead = 0;  // `behind`: jobs of anybody that the same workers could run and that rank at least as high
  std::int64_t until_ms = 0;  // `not_before`, `after_failure`: when it may run, Unix time
};
// One JobStatus per known job, in the order asked; unknown sequences are left out.
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
  std::vector<std::string> quarantined{};  // devices it does not use any more: one sentence each
  std::vector<DeviceInfo> builds_for{};    // as in Hello
  std::uint64_t built_count = 0;           // objects of its that were taken since it connected
};
struct BrokerReply {
  std::string version;
  std::uint64_t queued = 0;
  std::uint64_t leased = 0;
  std::vector<WorkerStatus> workers;
};
// The request as a whole was not understood or not allowed; nothing of it was done.
struct Refused {
  std::string reason;
};

// ---- worker -> broker
// --------------------------------------------------------------------------------------------------------------

// First message of a session, and again whenever the broker says Unknown. `epoch` is drawn anew by each worker process:
// messages of an older process under the same identity cannot be taken for it.
struct Hello {
  std::string worker;
  std::uint64_t epoch = 0;
  std::vector<DeviceInfo> devices;
  std::uint32_t credit = 0;           // how many leases it wants to hold at once
  std::string evaluator;              // kEvaluatorVersion of the worker; the broker refuses another
  std::vector<std::string> labels{};  // sorted; jobs may ask for them
  std::vector<Backend> backends{};    // that work here; empty: all
  std::vector<std::string>
      quarantined{};  // devices that did not come back clean after a job and are not among `devices`: a sentence each
  // Of a worker that only builds, for others: kinds and architectures. It has no devices, and its credit counts builds.
  std::vector<DeviceInfo> builds_for{};
};
struct LeaseId {
  Sequence seq = 0;
  Attempt attempt = 0;

  friend auto operator<=>(const LeaseId&, const LeaseId&) = default;
};
// Renews every lease listed, and names the builds; a lease the broker granted and that is not listed in two heartbeats
// in a row is taken back.
struct Heartbeat {
  std::uint64_t epoch = 0;
  std::vector<LeaseId> leases;
};
struct AttemptResult {
  LeaseId lease;
  Result result;
};
// Our own failure on this attempt: the job is queued again, after kAttemptsMax failures it is `abandoned` with this
// evidence.
struct AttemptError {
  LeaseId lease;
  std::string message;
};
struct ResultBatch {
  std::uint64_t epoch = 0;
  std::vector<AttemptResult> results;
  std::vector<AttemptError> errors;
};
// How a build of a BuildBatch ended. Without an object the job's own worker builds it, and says what is wrong with it.
struct BuildResult {
  std::uint64_t epoch = 0;
  LeaseId build;
  std::optional<BuildObject> object;
  std::string message;  // why there is none, for people
};
// The worker leaves: its leases go back to the queue at once and are not counted as failures.
struct Goodbye {
  std::uint64_t epoch = 0;
};

// ---- broker -> worker
// --------------------------------------------------------------------------------------------------------------

struct Welcome {
  std::uint32_t heartbeat_ms = 0;  // send one this often
  std::uint32_t lease_ms = 0;      // a lease not renewed for this long is over
};
struct Lease {
  LeaseId id;
  std::string run;
  Submission submission;
  std::vector<Blob> blobs;              // of its files and its problem
  DeviceInfo device;                    // which of the worker's devices it is meant for
  std::optional<BuildObject> object{};  // what a worker that only builds made of it, for such a device
};
struct LeaseBatch {
  std::uint64_t epoch = 0;
  std::vector<Lease> leases;
};
// Build these for jobs that wait, on the devices they name, of which only kind and architecture are known. Their
// attempt is 0, which no lease has.
struct BuildBatch {
  std::uint64_t epoch = 0;
  std::vector<Lease> builds;
};
// Stop resending these: they are on disk, or they are of an attempt that no longer counts.
struct ResultAck {
  std::vector<LeaseId> leases;
};
// Stop working on these and forget them: they were cancelled, or are built where they run. Nothing need be said of them
// any more.
struct Revoke {
  std::vector<LeaseId> leases;
};
// The broker does not know this session (it restarted, or it gave the worker up): say Hello again, then heartbeat with
// what is held.
struct Unknown {};

// ---- the four directions
// -----------------------------------------------------------------------------------------------------------

using ClientRequest =
    std::variant<SubmitBatch, StatusQuery, RunQuery, BoardQuery, BrokerQuery, CancelJobs, RetryJobs, PurgeDead, Pause,
                 Drain, JobsQuery, DeadQuery, QueueQuery, StatsQuery, Backup, RunsQuery>;
using ClientReply = std::variant<SubmitAck, StatusReply, RunReply, BoardReply, BrokerReply, Refused, ActionReply, Done,
                                 JobsReply, QueueReply, StatsReply, RunsReply>;
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
}
template <class V>
void fields(V& v, BrokerReply& x) {
  v("version", x.version);
  v("queued", x.queued);
  v("leased", x.leased);
  v("workers", x.workers);
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
void fields(V& v, Heartbeat& x) {
  v("epoch", x.epoch);
  v("leases", x.leases);
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
