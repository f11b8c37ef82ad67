#include "store/verify.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/blob.h"
#include "core/codec/codec.h"
#include "core/leaderboard.h"
#include "core/limits.h"
#include "core/records.h"
#include "store/boards.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::store {
namespace {

std::string job_text(Sequence seq) {
  return "job " + std::to_string(seq);
}

class Verification {
 public:
  Verification(const Store& store, const std::function<void(const std::string&)>& report)
      : store_(store), report_(report) {}

  Expected<Verified> run() {
    using Check = void (Verification::*)(std::string_view key, std::string_view value);
    constexpr std::pair<Family, Check> kChecks[] = {
        {Family::state, &Verification::job},     {Family::ids, &Verification::id},
        {Family::result, &Verification::result}, {Family::samples, &Verification::samples},
        {Family::blob, &Verification::blob},     {Family::run, &Verification::label},
        {Family::board, &Verification::board},   {Family::queue, &Verification::queue_entry},
        {Family::timer, &Verification::timer},   {Family::dead, &Verification::dead},
        {Family::reuse, &Verification::reuse},   {Family::body, &Verification::body},
        {Family::object, &Verification::object}, {Family::sender, &Verification::sender},
        {Family::owner, &Verification::owner},   {Family::kernel, &Verification::kernel}};
    for (const auto& [family, check] : kChecks) {
      family_ = family;
      KQ_TRY(store_.scan(family, "", "", [&, check = check](std::string_view key, std::string_view value) {
        (this->*check)(key, value);
        return !broken_;
      }));
      if (broken_) return failure(std::move(*broken_));
    }
    totals();
    return found_;
  }

 private:
  void problem(const std::string& what) {
    ++found_.problem_count;
    report_("family '" + std::string(to_string(family_)) + "', " + what);
  }

  // Returns a record that another record needs. Reports a problem if it is missing or unreadable.
  template <class T>
  std::optional<T> need(Expected<std::optional<T>> record, const std::string& what) {
    if (!record) {
      problem(what + ": " + record.error().message);
      return std::nullopt;
    }
    if (!*record) problem(what + " is missing");
    return std::move(*record);
  }
  std::optional<std::string> value_of(Family family, const std::string& key) {
    auto value = store_.get(family, key);
    if (value) return std::move(*value);
    if (!broken_) broken_ = std::move(value.error());
    return std::nullopt;
  }

  void job(std::string_view key, std::string_view value) {
    const auto seq = sequence_from(key);
    auto job = decode<JobRecord>(value);
    if (!seq || !job)
      return problem((seq ? job_text(*seq) : "a key") + " is unreadable" + (job ? "" : ": " + job.error().message));
    const std::string subject = job_text(*seq);
    if (job->seq != *seq) problem(subject + " calls itself " + std::to_string(job->seq));
    newest_ = std::max(newest_, *seq);
    if (oldest_ == 0) oldest_ = *seq;
    const auto named = find_key(store_, job->key);
    if (!named || *named != *seq)
      problem(subject + ": family 'ids' does not lead to it by its key " + to_hex(job->key));
    const auto body = need(read_body(store_, *seq), subject + ": its submission");
    if (body) files(subject, *body);
    switch (job->state) {
      case JobState::queued:
        ++found_.queued_count;
        if (job->not_before_ms == 0) ++placed_count_;
        timers_of(subject, *job);
        return;
      case JobState::leased:
        ++found_.leased_count;
        ++placed_count_;
        return;
      case JobState::finished:
        ++found_.finished_count;
        const auto result = need(read_result(store_, *seq, false), subject + ": it is finished, its result");
        if (body && result) held_by_board(*job, *body, *result);
        return;
    }
  }

  // Checks finished jobs too: files stay as long as a submission that names them (broker/gc/retention.h).
  void files(const std::string& subject, const Submission& submission) {
    const auto check = [&](const char* what, const std::string& name, const Hash& hash) {
      if (!has_file(hash))
        problem(subject + ": its " + what + " '" + name + "' (SHA-256 " + to_hex(hash) + ") is missing");
    };
    for (const SourceFile& file : submission.files) check("file", file.name, file.hash);
    check("problem", submission.problem.file, submission.problem.hash);
  }

  // Most jobs name a problem that recent jobs named, so a table of slots by hash remembers the hashes found last.
  bool has_file(const Hash& hash) {
    std::uint16_t slot = 0;
    std::memcpy(&slot, hash.bytes.data(), sizeof slot);
    std::optional<Hash>& last = found_files_[slot];
    if (last == hash) return true;
    for (const Packing packing : {Packing::lz4, Packing::zstd, Packing::raw}) {  // most frequent first
      if (!value_of(Family::blob, blob_key(hash, packing))) continue;
      last = hash;
      return true;
    }
    return false;
  }

  // Checks the timer that must wake a queued job. Once a job has begun, its deadline has no effect and is removed when
  // it fires.
  void timers_of(const std::string& subject, const JobRecord& job) {
    const auto has = [&](std::int64_t at_ms, TimerKind kind) {
      return value_of(Family::timer, timer_key({.at_ms = at_ms, .kind = kind, .seq = job.seq})).has_value();
    };
    if (job.not_before_ms != 0 && !has(job.not_before_ms, TimerKind::may_run))
      problem(subject + " waits, and family 'timer' does not have its time");
    if (job.deadline_ms != 0 && job.leased_at_ms == 0 && !has(job.deadline_ms, TimerKind::expires)) {
      problem(subject + " has a deadline, and family 'timer' does not have it");
    }
  }

  // Checks that there is a board for a job that passed.
  void held_by_board(const JobRecord& job, const Submission& submission, const Result& result) {
    const auto row = board_row(submission, result, job.seq, job.finished_at_ms);
    if (!row) return;
    if (!value_of(Family::board, board_key(row->problem_hash, row->device_model)))
      problem(job_text(job.seq) + " passed, and its board has no row");
  }

  void id(std::string_view key, std::string_view value) {
    const auto hash = hash_from_bytes(key);
    const auto seq = sequence_from(value);
    if (!hash || !seq) return problem("an entry is unreadable");
    const auto job = need(read_job(store_, *seq), "key " + to_hex(*hash) + ": " + job_text(*seq));
    if (job && job->key != *hash)
      problem("key " + to_hex(*hash) + " leads to " + job_text(*seq) + ", which has another key");
  }

  void result(std::string_view key, std::string_view value) {
    ++found_.result_count;
    const auto seq = sequence_from(key);
    if (!seq) return problem("a key is unreadable");
    if (const auto result = decode<Result>(value); !result) problem(job_text(*seq) + ": " + result.error().message);
    need(read_job(store_, *seq), job_text(*seq));
  }

  void samples(std::string_view key, std::string_view value) {
    const auto seq = sequence_from(key);
    if (!seq) return problem("a key is unreadable");
    if (const auto samples = decode<Samples>(value); !samples) problem(job_text(*seq) + ": " + samples.error().message);
    if (!value_of(Family::result, std::string(key))) problem(job_text(*seq) + " has samples and no result");
  }

  void blob(std::string_view key, std::string_view value) {
    ++found_.blob_count;
    found_.blob_bytes += value.size();
    const auto place = blob_place_from(key);
    if (!place) return problem("a key is no hash");
    const auto& [hash, packing] = *place;
    const Blob blob{.hash = hash, .bytes = std::string(value), .packing = packing};
    if (const auto content = view_of(decompressor_, blob); !content)
      problem("file " + to_hex(hash) + ": " + content.error().message);
  }

  void label(std::string_view key, std::string_view value) {
    ++found_.label_count;
    const auto entry = decode<RunEntry>(value);
    if (!entry) return problem("an entry: " + entry.error().message);
    const std::string run(key.substr(0, key.find('\0')));
    if (is_as_first_submitted(*entry)) {
      need(read_body(store_, entry->seq), "run '" + run + "': " + job_text(entry->seq));
      return;
    }
    if (key != run_key(run, entry->submission.label))
      problem("run '" + run + "', an entry stands under another label than its own");
    need(read_job(store_, entry->seq),
         "run '" + run + "', label '" + entry->submission.label + "': " + job_text(entry->seq));
  }

  // Checks that the job on a board passed with these figures. The row keeps the names under which it was first
  // submitted.
  void board(std::string_view key, std::string_view value) {
    ++found_.board_row_count;
    const auto row = decode<LeaderboardRow>(value);
    if (!row) return problem("a row: " + row.error().message);
    const std::string subject = "'" + row->problem + "' on " + row->device_model + ": " + job_text(row->seq);
    if (key != board_key(row->problem_hash, row->device_model))
      problem(subject + " stands on another board than its own");
    const auto kernel = value_of(Family::kernel, kernel_key(row->problem_hash, row->kernel_hash, row->device_model));
    if (!kernel || *kernel != value) problem(subject + " has another figure as a kernel than on its board");
    need(read_job(store_, row->seq), subject);
  }

  // Checks that the first run of a kernel passed with these figures, and that the kernel in the first place of its
  // board is as fast. Other runs may have been removed.
  void kernel(std::string_view key, std::string_view value) {
    const auto row = decode<LeaderboardRow>(value);
    if (!row) return problem("a row: " + row.error().message);
    const std::string subject = "'" + row->problem + "' on " + row->device_model + ": " + job_text(row->seq);
    if (key != kernel_key(row->problem_hash, row->kernel_hash, row->device_model))
      return problem(subject + " stands under another kernel than its own");
    const auto first = value_of(Family::board, board_key(row->problem_hash, row->device_model));
    const auto holder = first ? decode<LeaderboardRow>(*first) : our_fault("there is none");
    if (!holder) return problem(subject + " has no board");
    if (is_better(*row, *holder, kernel_count_of(*row)))
      problem(subject + " is faster than " + job_text(holder->seq) + ", which has the first place");
    const auto job = need(read_job(store_, row->seq), subject);
    const auto body = need(read_body(store_, row->seq), subject + ", its submission");
    const auto result = need(read_result(store_, row->seq, false), subject + ", its result");
    if (!job || !body || !result) return;
    const auto run = board_row(*body, *result, row->seq, job->finished_at_ms);
    if (!run || row->runs.empty() || run->runs.front() != row->runs.front() || run->label != row->label)
      problem(subject + " did not pass with what the row says");
  }

  // Returns the number of kernels on the board of a row. Rows of one hash follow each other, so that each board is
  // counted once.
  std::size_t kernel_count_of(const LeaderboardRow& row) {
    if (!counted_ || *counted_ != row.problem_hash) {
      auto counts = kernel_counts(store_, row.problem_hash);
      if (!counts && !broken_) broken_ = std::move(counts.error());
      counted_ = row.problem_hash;
      kernel_counts_ = counts ? std::move(*counts) : std::map<std::string, std::size_t>();
    }
    return kernel_counts_[row.device_model];
  }

  void queue_entry(std::string_view key, std::string_view value) {
    const auto place = queue_place_from(key);
    const auto entry = queue_entry_from(value);
    if (!place || !entry) return problem("an entry is unreadable");
    ++entry_count_;
    const auto job = need(read_job(store_, place->seq), job_text(place->seq));
    if (!job) return;
    const bool is_there =
        entry->leased ? job->state == JobState::leased : job->state == JobState::queued && job->not_before_ms == 0;
    if (!is_there) problem(job_text(place->seq) + " has a place and is " + std::string(to_string(job->state)));
    check_lane(place->lane, *job);
  }

  void check_lane(const LaneId& lane, const JobRecord& job) {
    const auto bytes = value_of(Family::meta, numbered_key(kClassPrefix, lane.needs));
    const auto needs = bytes ? decode<Requirements>(*bytes) : bad_input("none");
    const auto submitter = value_of(Family::meta, numbered_key(kSubmitterPrefix, lane.submitter));
    if (!needs || *needs != job.needs || !submitter || *submitter != job.submitter || job.priority != lane.priority) {
      problem(job_text(job.seq) + " stands in another lane than its own");
    }
  }

  void timer(std::string_view key, std::string_view value) {
    const auto place = timer_place_from(key);
    if (!place) return problem("an entry is unreadable");
    const auto job = need(read_job(store_, place->seq), job_text(place->seq));
    if (!job) return;
    switch (place->kind) {
      case TimerKind::may_run: {
        const auto entry = timer_value_from(value);
        if (!entry) return problem("an entry is unreadable");
        const bool waits = job->state == JobState::queued && job->not_before_ms == place->at_ms;
        if (!waits) return problem(job_text(place->seq) + " has a time to be queued and does not wait for it");
        return check_lane(entry->first, *job);
      }
      case TimerKind::expires:
        // A timer that is due may exist until it fires, also if its job ended meanwhile and was requeued with another
        // deadline.
        if (job->deadline_ms != place->at_ms && place->at_ms > job->submitted_at_ms) {
          return problem(job_text(place->seq) + " has a time to expire and not that deadline");
        }
        if (job->state == JobState::finished && place->at_ms > job->finished_at_ms) {
          return problem(job_text(place->seq) + " has a time to expire and is finished");
        }
        return;
    }
  }

  void dead(std::string_view key, std::string_view) {
    const auto seq = sequence_from(key);
    if (!seq) return problem("a key is unreadable");
    const auto job = need(read_job(store_, *seq), job_text(*seq));
    if (job && job->state != JobState::finished) problem(job_text(*seq) + " is a dead letter and is not finished");
  }

  void reuse(std::string_view key, std::string_view value) {
    const auto place = reuse_place_from(key);
    if (!place || !reused_at_ms_from(value)) return problem("an entry is unreadable");
    need(read_job(store_, place->seq), job_text(place->seq));
  }

  void body(std::string_view key, std::string_view) {
    const auto seq = sequence_from(key);
    if (!seq) return problem("a key is unreadable");
    need(read_job(store_, *seq), job_text(*seq));
  }

  void object(std::string_view key, std::string_view value) {
    const auto seq = sequence_from(key);
    const auto object = decode<BuildObject>(value);
    if (!seq || !object)
      return problem((seq ? job_text(*seq) : "a key") + " is unreadable" +
                     (object ? "" : ": " + object.error().message));
    if (sha256(object->bytes) != object->hash) problem(job_text(*seq) + ": the object is not what its name says");
    const auto job = need(read_job(store_, *seq), job_text(*seq));
    if (job && job->state == JobState::finished) problem(job_text(*seq) + " is finished and has an object");
  }

  // The names of the senders are removed with the file.
  void sender(std::string_view key, std::string_view) {
    if (key.size() <= sizeof(Hash::bytes)) problem("a key is not a hash and a submitter");
  }

  void owner(std::string_view key, std::string_view value) {
    if (const auto owner = decode<RunOwner>(value); !owner)
      problem("run '" + std::string(key) + "': " + owner.error().message);
  }

  void totals() {
    family_ = Family::queue;
    if (entry_count_ != placed_count_) {
      problem(std::to_string(entry_count_) + " entries for " + std::to_string(placed_count_) +
              " jobs that are queued or leased");
    }
    family_ = Family::meta;
    const auto next = value_of(Family::meta, std::string(kNextSequenceKey));
    if (newest_ > 0 && (!next || sequence_from(*next).value_or(0) <= newest_)) {
      problem("next_sequence is not above " + job_text(newest_));
    }
    const auto from = value_of(Family::meta, std::string(kRetainedFromKey));
    if (from && oldest_ != 0 && sequence_from(*from).value_or(~Sequence{0}) > oldest_) {
      problem("retained_from is above " + job_text(oldest_));
    }
  }

  const Store& store_;
  const std::function<void(const std::string&)>& report_;
  Decompressor decompressor_;
  Verified found_;
  Family family_ = Family::state;
  std::optional<Error> broken_;
  std::optional<Hash> counted_;                       // the board whose kernels kernel_counts_ has
  std::map<std::string, std::size_t> kernel_counts_;  // by device model
  std::vector<std::optional<Hash>> found_files_ =
      std::vector<std::optional<Hash>>(std::size_t{1} << 16);  // indexed by the first two bytes of the hash
  Sequence oldest_ = 0;
  Sequence newest_ = 0;
  std::uint64_t placed_count_ = 0;  // jobs whose records say that they are in the queue
  std::uint64_t entry_count_ = 0;   // entries of family queue
};

}  // namespace

Expected<Verified> verify(const Store& store, const std::function<void(const std::string&)>& report) {
  return Verification(store, report).run();
}

}  // namespace kq::store
