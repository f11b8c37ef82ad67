// THE RECORDS ON DISK: the value of every key in the store. The keys are in store/keys.h.
//
// A record has the values of its fields in the order of fields(), without their names. Records of schema 3 and earlier
// have the names, and they can still be read. Rules for changes:
//   - A new field is added behind all others of its struct (tests/golden/orders_test.cc checks this). Its default means
//     the same as its absence.
//   - A field that is removed or changes its meaning raises kSchemaVersion and needs a migration. The change adds files
//     of golden bytes and edits none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/build_object.h"
#include "core/bytes/hash.h"
#include "core/device.h"
#include "core/job.h"
#include "core/leaderboard.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq {

inline constexpr std::uint32_t kSchemaVersion = 5;

// The most samples, of submission and reference together, that a Result record holds. More samples are in a record of
// their own, so that a reader of results does not have to load them.
inline constexpr std::size_t kSamplesInResultMax = 256;

// Family `state`, key: sequence. It is overwritten at each durable change of the job's state.
struct JobRecord {
  Sequence seq = 0;
  Hash key;
  JobState state = JobState::queued;
  Attempt attempt = 0;               // the number of the newest lease
  std::uint32_t failures = 0;        // leases that failed by a fault of kq since a submission last queued the job
  std::int64_t submitted_at_ms = 0;  // Unix time
  std::int64_t leased_at_ms = 0;     // the Unix time of the newest lease; 0 before the first one
  std::int64_t finished_at_ms = 0;   // Unix time; 0 while the job is not finished
  std::string last_error;            // the message of the last failure of kq

  // The fields below are those of the submission that the queue needs without reading the submission.
  std::string submitter{};  // the name whose share and quota the job counts against; empty: not given
  std::string run{};        // the run that submitted the job last
  Priority priority = Priority::normal;
  Requirements needs{};
  Hash problem{};
  std::int64_t not_before_ms = 0;  // the start time of the submission, or the end of the pause after a failure; 0: none
  std::int64_t deadline_ms = 0;    // 0: none
  std::uint32_t bytes = 0;         // size of the record and the files, as it counts against the submitter's quota

  // The submitter of the submission in family `body`; empty where it is `submitter`.
  std::string first_submitter{};
  // The other submitters whose submissions the job answers, while it is unfinished: the job is cancelled when the last
  // submitter has cancelled it. A list of kJobSubmittersMax names is full, and then only an admin cancels the job.
  std::vector<std::string> also_for{};

  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

// The other families:
//   `body`     Key: sequence. The Submission as it was first accepted, with its files as hashes. It never changes.
//   `blob`     Key: the 32 bytes of the SHA-256 of the content, and a letter where the value is packed (store/keys.h).
//              The value never changes.
//   `result`   Key: sequence. The Result, which includes its samples where they are at most kSamplesInResultMax.
//   `samples`  Key: sequence. The Samples of a Result that has more.
//   `board`    Key: hash of the board (core/leaderboard.h) and device model. The LeaderboardRow of the first place.
//   `kernel`   Key: hash of the board, hash of the kernel, and device model. The LeaderboardRow of the kernel.
//   `queue`    An entry of a few bytes for each unfinished job that may run now. Keys and values: store/keys.h.
//   `timer`    The time at which a queued job may run, or at which it expires. An expiry entry of a job that has
//   started
//              has no effect. Keys and values: store/keys.h.
//   `dead`     Key: sequence. An empty value for each job that ended as `abandoned` and is still a dead letter.
//   `reuse`    Key: sequence and the key of a run entry. The Unix time in ms (8 bytes, big-endian) at which the broker
//              last answered a submission with this existing job. This family, the run in the JobRecord and the label
//              in the body lead from a job to every run entry that may name it.
//   `sender`   Key: SHA-256 and submitter. An empty value for each file whose bytes a submitter has sent. Only such a
//              submitter may name the file by its hash alone. It is written where keys are used.
//   `object`   Key: sequence. The BuildObject of an unfinished job, which is removed when the job is finished.
//   `meta`     Among others the names of the parts of lane keys: class number -> Requirements, submitter number ->
//   name.

// Returns the submitter of the submission in family `body`.
inline const std::string& first_submitter_of(const JobRecord& job) {
  return job.first_submitter.empty() ? job.submitter : job.first_submitter;
}

// Family `owner`, key: the name of a run. It exists for each run that a key named first.
struct RunOwner {
  std::string owner;                  // the submitter who may add and replace rows, and share the run
  std::vector<std::string> shared{};  // others who may add and replace rows and read its sources; sorted

  friend bool operator==(const RunOwner&, const RunOwner&) = default;
};

// Family `run`, key: run NUL label. The job of that label. A label that is submitted again points to its newest job.
struct RunEntry {
  Sequence seq = 0;
  // The submission under this label, whose names may differ from those of the job's first submission. In the store it
  // is empty where both are equal (is_as_first_submitted); a reader of a run gets the full submission.
  Submission submission;
  // The submitter of this row, as its key proves it. Empty in the store where the submission is left out, and then the
  // first submitter of the job; also empty where an earlier kq wrote the entry.
  std::string submitter{};

  friend bool operator==(const RunEntry&, const RunEntry&) = default;
};

// Returns whether the stored entry leaves out its submission. No submission has an empty label, so an empty label marks
// such an entry.
inline bool is_as_first_submitted(const RunEntry& entry) {
  return entry.submission.label.empty();
}

// The stored form of a RunEntry whose submission equals the job's first submission.
struct ShortRunEntry {
  Sequence seq = 0;
};

// One row of a run with its job and result, joined for readers.
struct RunRow {
  std::string run;
  RunEntry entry;
  JobRecord job;
  std::optional<Result> result;  // present exactly when the job is finished
  // The former jobs of this kernel in this run. A board counts these jobs too, so that a lucky rerun wins no rank.
  std::vector<KernelRun> reruns{};

  friend bool operator==(const RunRow&, const RunRow&) = default;
};

template <class V>
void fields(V& v, JobRecord& x) {
  v("seq", x.seq);
  v("key", x.key);
  v("state", x.state);
  v("attempt", x.attempt);
  v("failures", x.failures);
  v("submitted_at_ms", x.submitted_at_ms);
  v("leased_at_ms", x.leased_at_ms);
  v("finished_at_ms", x.finished_at_ms);
  v("last_error", x.last_error);
  v("submitter", x.submitter);
  v("run", x.run);
  v("priority", x.priority);
  v("needs", x.needs);
  v("problem", x.problem);
  v("not_before_ms", x.not_before_ms);
  v("deadline_ms", x.deadline_ms);
  v("bytes", x.bytes);
  v("first_submitter", x.first_submitter);
  v("also_for", x.also_for);
}
template <class V>
void fields(V& v, RunOwner& x) {
  v("owner", x.owner);
  v("shared", x.shared);
}
template <class V>
void fields(V& v, RunEntry& x) {
  v("seq", x.seq);
  v("submission", x.submission);
  v("submitter", x.submitter);
}
template <class V>
void fields(V& v, ShortRunEntry& x) {
  v("seq", x.seq);
}
template <class V>
void fields(V& v, RunRow& x) {
  v("run", x.run);
  v("entry", x.entry);
  v("job", x.job);
  v("result", x.result);
  v("reruns", x.reruns);
}

}  // namespace kq
