#include "broker/jobs/submit.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "broker/jobs/lifecycle.h"
#include "broker/jobs/ownership.h"
#include "core/base/no_name.h"
#include "core/blob.h"
#include "core/codec/codec.h"
#include "core/limits.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::broker {
namespace {

constexpr std::string_view kDiskNearlyFull = "the broker's disk is nearly full; what is left is for results";

// The files of a batch. Their bytes move out when a file is written.
struct BatchFile {
  Blob* blob;
  std::size_t bytes;
};
using BatchFiles = std::map<Hash, BatchFile>;

// Returns what is wrong with the batch as a whole, or nothing.
std::optional<std::string> validation_error(const SubmitBatch& batch, Decompressor& decompressor) {
  if (const auto wrong = name_error(batch.run)) return "run " + *wrong;
  if (const auto wrong = name_error(batch.submitter); wrong && !batch.submitter.empty()) return "submitter " + *wrong;
  if (batch.jobs.size() > kSubmitJobsMax) {
    return std::to_string(batch.jobs.size()) + " jobs in one batch, at most " + std::to_string(kSubmitJobsMax) +
           " are allowed";
  }
  const std::size_t blobs_max = std::max<std::size_t>(batch.jobs.size(), 1) * (kFilesPerSubmissionMax + 1);
  if (batch.blobs.size() > blobs_max) {
    return std::to_string(batch.blobs.size()) + " files for " + std::to_string(batch.jobs.size()) + " jobs, at most " +
           std::to_string(blobs_max) + " are allowed";
  }
  std::size_t bytes = 0;
  std::size_t unpacked = 0;
  for (const Blob& blob : batch.blobs) {
    bytes += blob.bytes.size();
    unpacked += std::min(content_bytes(blob.packing, blob.bytes),
                         kFileBytesMax);  // a longer file is refused before it is unpacked
  }
  if (bytes > kSubmitBytesMax) {
    return std::to_string(bytes) + " bytes of files in one batch, at most " + std::to_string(kSubmitBytesMax) +
           " are allowed";
  }
  if (unpacked > kSubmitContentBytesMax) {
    return std::to_string(unpacked) + " bytes of files in one batch when unpacked, at most " +
           std::to_string(kSubmitContentBytesMax) + " are allowed";
  }
  for (std::size_t i = 0; i < batch.blobs.size(); ++i) {
    const Blob& blob = batch.blobs[i];
    if (const auto content = view_of(decompressor, blob); !content)
      return "blob " + std::to_string(i) + ": " + content.error().message;
  }
  return std::nullopt;
}

// What the job counts against its submitter's quota: its files and its problem's file, as far as they are in the batch,
// and the approximate size of its records.
std::uint32_t bytes_of(const Submission& submission, const BatchFiles& files) {
  constexpr std::uint32_t kRecordBytes = 1'024;
  std::uint32_t bytes = kRecordBytes;
  const auto add = [&](const Hash& hash) {
    const auto place = files.find(hash);
    if (place != files.end()) bytes += static_cast<std::uint32_t>(place->second.bytes);
  };
  for (const SourceFile& file : submission.files) add(file.hash);
  add(submission.problem.hash);
  return bytes;
}

// Handles the submissions of one batch.
class SubmitHandler {
 public:
  // `has_keys` says that a key proves the submitter.
  SubmitHandler(Step& step, SubmitBatch& batch, std::string submitter, bool has_keys)
      : step_(step), state_(step.state), run_(batch.run), submitter_(std::move(submitter)), has_keys_(has_keys) {
    for (Blob& blob : batch.blobs) files_.emplace(blob.hash, BatchFile{&blob, blob.bytes.size()});
  }

  Expected<JobAck> accept(Submission submission) {
    if (const auto valid = validate(submission); !valid) return refused(valid.error().message);
    // The result and the files of a job may be read by its submitter, so this also protects those of a known job.
    KQ_TRY_VALUE(const auto unsent, unsent_file(submission));
    if (unsent) {
      return refused(submission.label + ": the bytes of " + *unsent + " are not in this batch, and " + submitter_ +
                     " has not sent them before; send its bytes along");
    }
    // The broker computes the key itself: a wrong key from a producer could answer a submission with the result of
    // another.
    const Hash key = submission_key(submission);
    KQ_TRY_VALUE(auto known, find(key));
    if (!known) {
      KQ_TRY_VALUE(known, failed_with_eager(submission));
    }
    empties_author_ = submission.author == kNoName;
    empties_tags_ = submission.tags == std::map<std::string, std::string>{{std::string(kNoName), ""}};
    if (empties_author_) submission.author.clear();
    if (empties_tags_) submission.tags.clear();
    if (!known) return accept_new(std::move(submission), key);
    KQ_TRY_VALUE(auto rerun, newer_rerun(submission, known->record.seq));
    if (rerun) known = std::move(rerun);
    return accept_known(submission, std::move(known->record), known->ending);
  }

  bool accepted_new() const { return accepted_new_; }

 private:
  struct KnownJob {
    JobRecord record;
    std::optional<Ending> ending;  // of a finished job
  };

  // Returns the job with this key, or nothing.
  Expected<std::optional<KnownJob>> find(const Hash& key) const {
    if (const Job* job = state_.queue.jobs().find(key)) return KnownJob{job->record, job->ending};
    KQ_TRY_VALUE(const auto seq, store::find_key(*state_.store, key));
    return seq ? find(*seq) : Expected<std::optional<KnownJob>>(std::nullopt);
  }

  Expected<std::optional<KnownJob>> find(Sequence seq) const {
    if (const Job* job = state_.queue.jobs().find(seq)) return KnownJob{job->record, job->ending};
    if (state_.retention.removed.contains(seq)) return std::optional<KnownJob>();
    KQ_TRY_VALUE(const auto record, store::read_job(*state_.store, seq));
    if (!record) return our_fault("store: job " + std::to_string(seq) + " has a key, but no record");
    if (record->state != JobState::finished) return KnownJob{*record, std::nullopt};
    KQ_TRY_VALUE(const auto result, store::read_result(*state_.store, seq, false));
    if (!result) return our_fault("store: job " + std::to_string(seq) + " is finished, but has no result");
    return KnownJob{*record, Ending{name_of(result->verdict), result->device.memory_bytes}};
  }

  // Returns the job of the run's row with this label if that job is newer than `seq` and a forced rerun of the same
  // work, or nothing. The salt of a rerun is all that makes its key another one.
  Expected<std::optional<KnownJob>> newer_rerun(const Submission& submission, Sequence seq) const {
    if (!submission.salt.empty()) return std::optional<KnownJob>();
    KQ_TRY_VALUE(auto row, store::read_entry(*state_.store, run_, submission.label));
    if (!row || row->seq <= seq) return std::optional<KnownJob>();
    row->submission.salt.clear();
    const bool is_same_work = submission_key(row->submission) == submission_key(submission);
    return is_same_work ? find(row->seq) : Expected<std::optional<KnownJob>>(std::nullopt);
  }

  // Returns the job that ended with a failure of the submission when it was judged against the reference as it is, or
  // nothing. Outputs are always compared with that reference, so another baseline of the times ends in the same way.
  Expected<std::optional<KnownJob>> failed_with_eager(const Submission& submission) const {
    if (submission.trials.baseline == Baseline::eager) return std::optional<KnownJob>();
    Submission eager = submission;
    eager.trials.baseline = Baseline::eager;
    KQ_TRY_VALUE(auto known, find(submission_key(eager)));
    if (!known || !known->ending) return std::optional<KnownJob>();
    const VerdictRow& verdict = row_of(known->ending->verdict);
    const bool is_fault = verdict.fault == Fault::user || verdict.fault == Fault::policy;
    return verdict.terminal && !verdict.measured && is_fault ? std::move(known) : std::optional<KnownJob>();
  }

  // Answers a submission whose key is known with that job. A finished job is queued again if its verdict is not
  // terminal. `ending` is a copy, because queueing the job again clears its own.
  Expected<JobAck> accept_known(const Submission& submission, JobRecord record, std::optional<Ending> ending) {
    const auto needs = ending ? needs_to_run_again(*ending, requirements_of(submission)) : std::nullopt;
    if (needs) {
      const std::uint32_t bytes = bytes_of(submission, files_);
      if (auto full = quota_error(bytes)) return busy(std::move(*full));
      KQ_TRY(keep_first_entry(record));
      const Attempt attempt = record.attempt;  // the attempt number continues, so that old results never count
      const std::string first_submitter = first_submitter_of(record);
      record = record_for(record.seq, record.key, submission, bytes);
      if (first_submitter != submitter_) record.first_submitter = first_submitter;
      record.attempt = attempt;
      record.needs = *needs;
      if (auto queued = enqueue(step_, record); !queued) return busy_or_failed(queued.error());
      write_files(submission);  // a job may be abandoned because the store has lost them
      step_.ready.note(NoteLevel::debug, "job " + std::to_string(record.seq) + ": queued again after " +
                                             std::string(to_string(ending->verdict)));
      if (ending->verdict == VerdictName::abandoned)
        step_.ready.erase(store::Family::dead, store::sequence_key(record.seq));
    }
    KQ_TRY_VALUE(const bool has_room, has_room_for_entry(record.seq, submission));
    if (!has_room) return busy(std::string(kDiskNearlyFull));
    if (!needs && record.state != JobState::finished) {
      if (auto merged = merge_submission(step_, record, submission, submitter_); !merged)
        return busy_or_failed(merged.error());
    }
    KQ_TRY(write_entry(record.seq, submission));
    note_senders(submission);
    if (needs) {
      state_.metrics.submitted(submission.backend);
    } else {
      state_.metrics.reused();
    }
    return JobAck{.acceptance = needs ? Acceptance::accepted : Acceptance::reused,
                  .seq = record.seq,
                  .state = record.state,
                  .reason = ""};
  }

  Expected<JobAck> accept_new(Submission&& moved, const Hash& key) {
    const auto kept = std::make_shared<const Submission>(std::move(moved));
    const Submission& submission = *kept;
    const std::uint32_t bytes = bytes_of(submission, files_);
    if (auto full = quota_error(bytes)) return busy(std::move(*full));
    KQ_TRY_VALUE(auto missing, missing_file(submission));
    if (missing) {
      return refused(submission.label + ": " + *missing +
                     " is neither in this batch nor in the store; send its bytes along");
    }
    const Sequence seq = state_.next_sequence;
    auto queued = enqueue(step_, record_for(seq, key, submission, bytes), kept);
    if (!queued) return busy_or_failed(queued.error());
    ++state_.next_sequence;
    write_files(submission);
    state_.retention.add_named_files(submission);
    step_.ready.write(store::Family::ids, store::hash_key(key), store::sequence_key(seq));
    step_.ready.write(store::Family::body, store::sequence_key(seq), encode(submission));
    step_.ready.write(store::Family::run, store::run_key(run_, submission.label), encode(ShortRunEntry{seq}));
    note_senders(submission);
    state_.metrics.submitted(submission.backend);
    accepted_new_ = true;
    return JobAck{.acceptance = Acceptance::accepted, .seq = seq, .state = JobState::queued, .reason = ""};
  }

  JobRecord record_for(Sequence seq, const Hash& key, const Submission& submission, std::uint32_t bytes) const {
    return {.seq = seq,
            .key = key,
            .submitted_at_ms = step_.now_ms,
            .last_error = "",
            .submitter = submitter_,
            .run = run_,
            .priority = submission.priority,
            .needs = requirements_of(submission),
            .problem = submission.problem.hash,
            .not_before_ms = submission.not_before_ms,
            .deadline_ms = submission.deadline_ms,
            .bytes = bytes};
  }

  JobAck refused(std::string reason) {
    state_.metrics.refused();
    return {.acceptance = Acceptance::refused, .seq = 0, .reason = std::move(reason)};
  }

  JobAck busy(std::string reason) {
    state_.metrics.busy();
    return {.acceptance = Acceptance::busy,
            .seq = 0,
            .reason = std::move(reason),
            .retry_after_ms = state_.options.busy_retry_ms};
  }

  // There are too many different lanes; there will be room when jobs end.
  Expected<JobAck> busy_or_failed(const Error& error) {
    if (error.kind == ErrorKind::bad_input) return busy(error.message);
    return failure(error);
  }

  // Returns false if the disk is nearly full and the store does not have the label of a submission that is answered
  // with a known job.
  Expected<bool> has_room_for_entry(Sequence seq, const Submission& submission) const {
    return state_.space.nearly_full ? is_entered(store::run_key(run_, submission.label), seq) : Expected<bool>(true);
  }

  // Writes that label, unless the disk is nearly full. A row of the same job keeps its author and its tags where the
  // submission has none and does not empty them.
  Expected<void> write_entry(Sequence seq, const Submission& submission) {
    if (state_.space.nearly_full) return {};
    RunEntry entry{seq, submission, submitter_};
    const bool keeps_author = submission.author.empty() && !empties_author_;
    const bool keeps_tags = submission.tags.empty() && !empties_tags_;
    if (keeps_author || keeps_tags) {
      KQ_TRY_VALUE(auto row, store::read_entry(*state_.store, run_, submission.label));
      if (row && row->seq == seq) {
        if (keeps_author) entry.submission.author = std::move(row->submission.author);
        if (keeps_tags) entry.submission.tags = std::move(row->submission.tags);
      }
    }
    const std::string key = store::run_key(run_, submission.label);
    step_.ready.write(store::Family::run, key, encode(entry));
    step_.ready.write(store::Family::reuse, store::reuse_key(seq, key), store::reuse_value(step_.now_ms));
    return {};
  }

  // Returns whether the store has the label, as it does for a repeated message.
  Expected<bool> is_entered(const std::string& key, Sequence seq) const {
    KQ_TRY_VALUE(const auto bytes, state_.store->get(store::Family::run, key));
    if (!bytes) return false;
    const auto entry = decode<RunEntry>(*bytes);
    if (!entry) return our_fault("store, family 'run': " + entry.error().message);
    return entry->seq == seq;
  }

  // Before the record loses its run: writes how to find the entry that the run had.
  Expected<void> keep_first_entry(const JobRecord& record) {
    if (record.run == run_) return {};
    const Job* job = state_.queue.jobs().find(record.seq);
    std::string label;
    if (job != nullptr) {
      KQ_TRY_VALUE(const auto first, submission_of(step_, *job));
      if (first != nullptr) label = first->label;
    } else {
      KQ_TRY_VALUE(const auto first, store::read_body(*state_.store, record.seq));
      if (first) label = first->label;
    }
    step_.ready.write(store::Family::reuse, store::reuse_key(record.seq, store::run_key(record.run, label)),
                      store::reuse_value(step_.now_ms));
    return {};
  }

  // Returns which quota has no room for a job of this size, or nothing.
  std::optional<std::string> quota_error(std::uint32_t bytes) const {
    const BrokerOptions& options = state_.options;
    if (state_.space.nearly_full) return std::string(kDiskNearlyFull);
    const auto full = [&](const Account& account, std::uint64_t jobs_max, std::uint64_t bytes_max,
                          const std::string& subject) -> std::optional<std::string> {
      if (account.jobs + 1 > jobs_max)
        return subject + " " + std::to_string(account.jobs) + " unfinished jobs, the limit";
      if (account.bytes + bytes > bytes_max)
        return subject + " " + std::to_string(account.bytes) + " bytes of unfinished jobs, the limit is " +
               std::to_string(bytes_max);
      return std::nullopt;
    };
    if (auto all = full(state_.queue.accounts().all(), options.unfinished_jobs_max, options.unfinished_bytes_max,
                        "the queue holds"))
      return all;
    const auto number = state_.queue.scheduler().submitters.find(submitter_);
    const Account own = number ? state_.queue.accounts().of(*number) : Account{};
    return full(own, options.submitter_jobs_max, options.submitter_bytes_max, "submitter '" + submitter_ + "' has");
  }

  // Returns what a finished job needs to run again for a new submission. Returns nothing if its verdict is terminal, or
  // if only a better device could give another verdict and none is connected. The job then needs the better device, so
  // that it does not end in the same way again.
  std::optional<Requirements> needs_to_run_again(const Ending& ending, Requirements needs) const {
    if (row_of(ending.verdict).terminal) return std::nullopt;
    switch (ending.verdict) {
      case VerdictName::compiled_only:
      case VerdictName::unsupported_here:
        if (needs.wish == DeviceWish::any) needs.wish = DeviceWish::cuda;
        if (needs.wish == DeviceWish::cpu || !state_.workers.serves(needs)) return std::nullopt;
        return needs;
      case VerdictName::too_large:
        needs.memory_above_bytes = ending.device_memory_bytes;
        if (!state_.workers.serves(needs)) return std::nullopt;
        return needs;
      default:  // the verdict does not depend on the device
        return needs;
    }
  }

  // Returns a text that names the first file that is neither in the batch nor in the store, or nothing.
  Expected<std::optional<std::string>> missing_file(const Submission& submission) {
    const auto absent = [](const std::string& name, const Hash& hash) {
      return std::optional("file '" + name + "' (SHA-256 " + to_hex(hash) + ")");
    };
    const auto missing = [&](const std::string& name, const Hash& hash) -> Expected<std::optional<std::string>> {
      if (files_.contains(hash)) return std::optional<std::string>();
      if (state_.retention.removed_files.contains(hash)) return absent(name, hash);
      KQ_TRY_VALUE(const auto blob, state_.blobs.find(*state_.store, hash));
      if (blob == nullptr) return absent(name, hash);
      return std::optional<std::string>();
    };
    for (const SourceFile& file : submission.files) {
      auto one = missing(file.name, file.hash);
      if (!one || *one) return one;
    }
    return missing(submission.problem.file, submission.problem.hash);
  }

  // Returns a text that names the first file whose bytes the submitter has not sent, now or before, or nothing.
  Expected<std::optional<std::string>> unsent_file(const Submission& submission) {
    if (!has_keys_) return std::nullopt;
    std::vector<SourceFile> files = submission.files;
    files.push_back({submission.problem.file, submission.problem.hash});
    for (const SourceFile& file : files) {
      if (files_.contains(file.hash)) continue;
      KQ_TRY_VALUE(const bool is_sent, has_sent(state_, submitter_, file.hash));
      if (!is_sent) return std::optional("file '" + file.name + "' (SHA-256 " + to_hex(file.hash) + ")");
    }
    return std::nullopt;
  }

  void note_senders(const Submission& submission) {
    if (!has_keys_) return;
    for (const SourceFile& file : submission.files) note_sender(step_, submitter_, file.hash);
    note_sender(step_, submitter_, submission.problem.hash);
  }

  void write_files(const Submission& submission) {
    for (const SourceFile& file : submission.files) write_file(file.hash);
    write_file(submission.problem.hash);
  }

  // Writes a file of the batch, unless the cache knows that the store has it. Asking the store about each file would
  // cost more than writing some files again.
  void write_file(const Hash& hash) {
    const auto place = files_.find(hash);
    if (place == files_.end() || state_.blobs.has(hash)) return;
    store::Write write = write_of(state_.blobs.put(std::move(*place->second.blob)));
    step_.ready.write(write.family, std::move(write.key), std::move(*write.value));
  }

  Step& step_;
  State& state_;
  const std::string& run_;
  const std::string submitter_;
  const bool has_keys_;
  BatchFiles files_;
  bool accepted_new_ = false;
  bool empties_author_ = false;  // of the submission that is being handled
  bool empties_tags_ = false;
};

}  // namespace

Expected<void> answer(Step& step, const Caller& caller, SubmitBatch&& batch) {
  if (auto error = validation_error(batch, step.state.decompressor)) {
    step.state.metrics.refused(batch.jobs.size());
    reply(step, caller, Refused{std::move(*error)});
    return {};
  }
  const std::string submitter = submitter_of(caller, batch.submitter);
  if (const auto wrong = name_error(submitter); wrong && !submitter.empty()) {
    reply(step, caller, Refused{"submitter " + *wrong});
    return {};
  }
  if (!batch.jobs.empty()) {
    KQ_TRY_VALUE(auto foreign, claim_run(step, caller, batch.run, submitter));
    if (foreign) {
      step.state.metrics.refused(batch.jobs.size());
      reply(step, caller, Refused{std::move(*foreign)});
      return {};
    }
  }
  SubmitHandler handler(step, batch, submitter, !caller.identity.name.empty());
  SubmitAck ack;
  ack.jobs.reserve(batch.jobs.size());
  for (Submission& submission : batch.jobs) {
    KQ_TRY_VALUE(auto one, handler.accept(std::move(submission)));
    ack.jobs.push_back(std::move(one));
  }
  if (handler.accepted_new()) {
    step.ready.write(store::Family::meta, std::string(store::kNextSequenceKey),
                     store::sequence_key(step.state.next_sequence));
  }
  // From the commit of this step on the accepted jobs are durable.
  reply(step, caller, std::move(ack));
  return {};
}

}  // namespace kq::broker
