// WHAT IS ON DISK: the value of every key in the store (keys: store/keys.h).
//
// Records are written without the names of their fields, in the order of fields(); those of schema 3 and before have
// names and are read as well. Rules for change: a field is only ever added, behind all others of its struct
// (tests/golden, orders), with a default that means what its absence meant; a field that is removed or changes meaning
// raises kSchemaVersion, adds a migration, and adds (never edits) golden bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/build_object.h"
#include "core/bytes/hash.h"
#include "core/device.h"
#include "core/job.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq {

inline constexpr std::uint32_t kSchemaVersion = 4;

inline constexpr std::size_t kSamplesInResultMax =
    256;  // of both sides: more would weigh down whoever reads results without them

// Family `state`, key: sequence. Overwritten at each durable change of the job's life.
struct JobRecord {
  Sequence seq = 0;
  Hash key;
  JobState state = JobState::queued;
  Attempt attempt = 0;               // of the newest lease
  std::uint32_t failures = 0;        // leases that ended in our fault since it was last queued by a submission
  std::int64_t submitted_at_ms = 0;  // Unix time
  std::int64_t leased_at_ms = 0;     // of the newest lease; 0 before
  std::int64_t finished_at_ms = 0;   // 0 before
  std::string last_error;            // what the last infrastructure failure said

  // What the queue must know without reading the submission.
  std::string submitter{};  // whose share and quota it counts against; empty: nobody said
  std::string run{};        // that asked for it last
  Priority priority = Priority::normal;
  Requirements needs{};
  Hash problem{};
  std::int64_t not_before_ms = 0;  // of the submission, or of the pause after a failure; 0: none
  std::int64_t deadline_ms = 0;    // 0: none
  std::uint32_t bytes = 0;         // of its record and its files, as charged to the submitter's quota

  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

// Family `body`, key: sequence. Put once: the submission as first accepted, its files by hash.
// Family `blob`, key: the 32 bytes of the SHA-256 of the content, or those and a letter where the value is packed
// (store/keys.h). Never changed. Family `result`, key: sequence. The Result, with its samples where they are at most
// kSamplesInResultMax. Family `samples`, key: sequence. The Samples of a result that has more. Family `board`, key:
// problem hash + device model. A LeaderboardRow. Family `queue`: an entry of a few bytes for exactly the unfinished
// jobs whose time has come. Family `timer`: when a queued job's time
//   comes, or when it expires; an expiry whose job has begun means nothing. Keys and values: store/keys.h.
// Family `dead`, key: sequence. Empty. Jobs that ended as `abandoned` and that nobody has dealt with yet.
// Family `reuse`, key: sequence + the key of a run entry. The Unix time in ms (8 bytes, big-endian) at which a
// submission was last answered with
//   a job that was there. With the run of its JobRecord and the label of its body it leads from a job to every run
//   entry that may name it.
// Family `object`, key: sequence. A BuildObject, put once, for a job that is unfinished; it goes with the job's end.
// Family `meta` also names the lanes' parts: class number -> Requirements, submitter number -> name.

// Family `run`, key: run NUL label. Which job stands for that label; a label submitted again points to its newest job.
struct RunEntry {
  Sequence seq = 0;
  Submission submission;  // as submitted under this label: names may differ from the job's first submission. In the
                          // store it is left empty where it is the same as that one (is_as_first_submitted); whoever
                          // reads a run gets it whole

  friend bool operator==(const RunEntry&, const RunEntry&) = default;
};

// No label is empty, so this cannot be meant.
inline bool is_as_first_submitted(const RunEntry& entry) {
  return entry.submission.label.empty();
}

// What is written of an entry that is as first submitted, which most are: the submission is left out.
struct ShortRunEntry {
  Sequence seq = 0;
};

// One row of a run, joined for readers.
struct RunRow {
  std::string run;
  RunEntry entry;
  JobRecord job;
  std::optional<Result> result;  // present exactly when the job is finished

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
}
template <class V>
void fields(V& v, RunEntry& x) {
  v("seq", x.seq);
  v("submission", x.submission);
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
}

}  // namespace kq
