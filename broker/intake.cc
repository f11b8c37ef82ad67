#include "broker/intake.h"

#include <map>
#include <optional>
#include <utility>

#include "broker/lifecycle.h"
#include "core/codec.h"
#include "core/limits.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq {
namespace {

// Hashes remembered to spare reads of the store; forgotten all at once, which costs a few reads again.
constexpr std::size_t kKnownBlobsMax = 1u << 16;

using Offered = std::map<Hash, const Blob*>;

JobAck refused(std::string reason) {
  return {.acceptance = Acceptance::refused, .seq = 0, .reason = std::move(reason)};
}

// What is wrong with the batch as a whole, or nothing.
std::optional<std::string> complaint_about(const SubmitBatch& batch) {
  if (const auto wrong = name_complaint(batch.run)) return "run " + *wrong;
  if (batch.jobs.size() > kSubmitJobsMax) {
    return std::to_string(batch.jobs.size()) + " jobs in one batch, at most " + std::to_string(kSubmitJobsMax) +
           " are allowed";
  }
  std::size_t bytes = 0;
  for (const Blob& blob : batch.blobs) bytes += blob.bytes.size();
  if (bytes > kSubmitBytesMax) {
    return std::to_string(bytes) + " bytes of files in one batch, at most " + std::to_string(kSubmitBytesMax) +
           " are allowed";
  }
  for (std::size_t i = 0; i < batch.blobs.size(); ++i) {
    const Blob& blob = batch.blobs[i];
    const std::string which = "blob " + std::to_string(i) + ": ";
    if (blob.bytes.size() > kFileBytesMax) {
      return which + std::to_string(blob.bytes.size()) + " bytes, at most " + std::to_string(kFileBytesMax) +
             " are allowed";
    }
    if (const Hash actual = sha256(blob.bytes); actual != blob.hash) {
      return which + "is named " + to_hex(blob.hash) + ", but its SHA-256 is " + to_hex(actual);
    }
  }
  return std::nullopt;
}

class Intake {
 public:
  Intake(Step& step, const SubmitBatch& batch) : step_(step), state_(step.state), run_(batch.run) {
    for (const Blob& blob : batch.blobs) offered_.emplace(blob.hash, &blob);
  }

  Expected<JobAck> take(const Submission& submission) {
    if (const auto valid = validate(submission); !valid) return refused(valid.error().message);
    // The broker names the work itself: a wrong key of a producer could answer one submission with another's result.
    const Hash key = submission_key(submission);
    if (Job* job = state_.jobs.find(key)) return again(submission, job->record, job->ending);
    const auto seq = find_key(*state_.store, key);
    if (!seq) return failure(seq.error());
    if (!*seq) return anew(submission, key);
    const auto record = read_job(*state_.store, **seq);
    if (!record) return failure(record.error());
    const auto result = read_result(*state_.store, **seq, false);
    if (!result) return failure(result.error());
    if (!*record || !*result)
      return our_fault("store: job " + std::to_string(**seq) + " has a key, but no record or result");
    return again(submission, **record, Ending{name_of((*result)->verdict), (*result)->device.memory_bytes});
  }

  bool took_new() const { return took_new_; }

 private:
  // A submission whose key is known: answered with that job, which is queued again if its ending does not settle the
  // question.
  Expected<JobAck> again(const Submission& submission, JobRecord record, const std::optional<Ending>& ending) {
    const auto lane = ending ? lane_to_revive(*ending, requirements_of(submission)) : std::nullopt;
    if (lane) {
      if (const auto full = complaint_about_room()) return refused(*full);
      record = {.seq = record.seq,
                .key = record.key,
                .attempt = record.attempt,  // goes on: results of earlier lives stay fenced
                .submitted_at_ms = step_.now_ms,
                .last_error = ""};
      step_.ready.note(NoteLevel::info, "job " + std::to_string(record.seq) + ": queued again after " +
                                            std::string(to_string(ending->verdict)));
      enqueue(step_, {.record = record, .lane = *lane, .problem = submission.problem.hash, .run = run_});
    }
    write_entry(record.seq, submission);
    return JobAck{.acceptance = Acceptance::reused, .seq = record.seq, .state = record.state, .reason = ""};
  }

  Expected<JobAck> anew(const Submission& submission, const Hash& key) {
    if (const auto full = complaint_about_room()) return refused(*full);
    auto missing = first_missing(submission);
    if (!missing) return failure(std::move(missing.error()));
    if (*missing) {
      return refused(submission.label + ": " + **missing +
                     " is neither in this batch nor in the store; send its bytes along");
    }
    for (const SourceFile& file : submission.files) {
      if (auto kept = keep(file.hash); !kept) return failure(std::move(kept.error()));
    }
    if (auto kept = keep(submission.problem.hash); !kept) return failure(std::move(kept.error()));
    const Sequence seq = state_.next_sequence++;
    enqueue(step_, {.record = {.seq = seq, .key = key, .submitted_at_ms = step_.now_ms, .last_error = ""},
                    .lane = requirements_of(submission),
                    .problem = submission.problem.hash,
                    .run = run_});
    step_.ready.write(Family::ids, hash_key(key), sequence_key(seq));
    step_.ready.write(Family::body, sequence_key(seq), encode(submission));
    write_entry(seq, submission);
    took_new_ = true;
    return JobAck{.acceptance = Acceptance::accepted, .seq = seq, .state = JobState::queued, .reason = ""};
  }

  void write_entry(Sequence seq, const Submission& submission) {
    step_.ready.write(Family::run, run_key(run_, submission.label), encode(RunEntry{seq, submission}));
  }

  std::optional<std::string> complaint_about_room() const {
    const std::size_t n = state_.jobs.unfinished_n();
    if (n < state_.options.unfinished_jobs_max) return std::nullopt;
    return "queue holds " + std::to_string(n) + " jobs, the limit; retry later";
  }

  // Where a job that ended so should run again for a new submission, or nothing: its verdict settles the question, or
  // only a better device could answer otherwise and none is connected. The lane then asks for the better device, not
  // for the same end once more.
  std::optional<Requirements> lane_to_revive(const Ending& ending, Requirements lane) const {
    if (row_of(ending.verdict).settles) return std::nullopt;
    switch (ending.verdict) {
      case VerdictName::compiled_only:
      case VerdictName::unsupported_here:
        if (lane.wish == DeviceWish::any) lane.wish = DeviceWish::cuda;
        if (lane.wish == DeviceWish::cpu || !state_.workers.serves(lane)) return std::nullopt;
        return lane;
      case VerdictName::too_large:
        lane.memory_above_bytes = ending.device_memory_bytes;
        if (!state_.workers.serves(lane)) return std::nullopt;
        return lane;
      default:  // nothing about the device
        return lane;
    }
  }

  // The first file whose bytes are nowhere, in words.
  Expected<std::optional<std::string>> first_missing(const Submission& submission) {
    std::vector<SourceFile> needed = submission.files;
    needed.push_back({submission.problem.file, submission.problem.hash});
    for (const SourceFile& file : needed) {
      if (offered_.contains(file.hash) || state_.known_blobs.contains(file.hash)) continue;
      const auto bytes = state_.store->get(Family::blob, hash_key(file.hash));
      if (!bytes) return failure(bytes.error());
      if (!*bytes) return std::optional("file '" + file.name + "' (SHA-256 " + to_hex(file.hash) + ")");
      remember(file.hash);
    }
    return std::optional<std::string>();
  }

  // Writes the bytes of an offered blob unless they are there already.
  Expected<void> keep(const Hash& hash) {
    const auto place = offered_.find(hash);
    if (place == offered_.end() || state_.known_blobs.contains(hash)) return {};
    const auto stored = state_.store->get(Family::blob, hash_key(hash));
    if (!stored) return failure(stored.error());
    if (!*stored) step_.ready.write(Family::blob, hash_key(hash), place->second->bytes);
    remember(hash);
    return {};
  }

  void remember(const Hash& hash) {
    if (state_.known_blobs.size() >= kKnownBlobsMax) state_.known_blobs.clear();
    state_.known_blobs.insert(hash);
  }

  Step& step_;
  State& state_;
  const std::string& run_;
  Offered offered_;
  bool took_new_ = false;
};

}  // namespace

Expected<void> submit(Step& step, const std::string& peer, std::uint64_t request_id, const SubmitBatch& batch) {
  if (auto complaint = complaint_about(batch)) {
    step.ready.send_to_client(peer, request_id, Refused{std::move(*complaint)});
    return {};
  }
  Intake intake(step, batch);
  SubmitAck ack;
  for (const Submission& submission : batch.jobs) {
    auto one = intake.take(submission);
    if (!one) return failure(std::move(one.error()));
    ack.jobs.push_back(std::move(*one));
  }
  if (intake.took_new()) {
    step.ready.write(Family::meta, std::string(kNextSequenceKey), sequence_key(step.state.next_sequence));
  }
  // From the commit of this step on the accepted jobs are durable.
  step.ready.send_to_client(peer, request_id, std::move(ack));
  return {};
}

}  // namespace kq
