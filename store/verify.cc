#include "store/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/blob.h"
#include "core/codec.h"
#include "core/leaderboard.h"
#include "core/limits.h"
#include "core/records.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq {
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
        {Family::state, &Verification::job},      {Family::ids, &Verification::id},
        {Family::result, &Verification::result},  {Family::samples, &Verification::samples},
        {Family::blob, &Verification::blob},      {Family::run, &Verification::label},
        {Family::board, &Verification::board},    {Family::queue, &Verification::queue_entry},
        {Family::timer, &Verification::timer},    {Family::dead, &Verification::dead},
        {Family::reuse, &Verification::reuse},    {Family::body, &Verification::body},
        {Family::object, &Verification::object}};
    for (const auto& [family, check] : kChecks) {
      family_ = family;
      auto scanned = store_.scan(family, "", "", [&, check = check](std::string_view key, std::string_view value) {
        (this->*check)(key, value);
        return !broken_;
      });
      if (!scanned) return failure(std::move(scanned.error()));
      if (broken_) return failure(std::move(*broken_));
    }
    totals();
    return found_;
  }

 private:
  void problem(const std::string& what) {
    ++found_.problems_n;
    report_("family '" + std::string(to_string(family_)) + "', " + what);
  }

  // A record that another one needs; a problem where it is missing or unreadable.
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
    if (!seq || !job) return problem((seq ? job_text(*seq) : "a key") + " is unreadable" + (job ? "" : ": " + job.error().message));
    const std::string who = job_text(*seq);
    if (job->seq != *seq) problem(who + " calls itself " + std::to_string(job->seq));
    newest_ = std::max(newest_, *seq);
    if (oldest_ == 0) oldest_ = *seq;
    const auto named = find_key(store_, job->key);
    if (!named || *named != *seq) problem(who + ": family 'ids' does not lead to it by its key " + to_hex(job->key));
    const auto body = need(read_body(store_, *seq), who + ": its submission");
    switch (job->state) {
      case JobState::queued:
        ++found_.queued_n;
        if (job->not_before_ms == 0) ++placed_n_;
        return;
      case JobState::leased:
        ++found_.leased_n;
        ++placed_n_;
        return;
      case JobState::finished:
        ++found_.finished_n;
        const auto result = need(read_result(store_, *seq, false), who + ": it is finished, its result");
        if (body && result) held_by_board(*job, *body, *result);
        return;
    }
  }

  // Nobody who passed is better than the holder of his board.
  void held_by_board(const JobRecord& job, const Submission& submission, const Result& result) {
    const auto row = board_row(submission, result, job.seq, job.finished_at_ms);
    if (!row) return;
    const auto bytes = value_of(Family::board, board_key(row->problem_hash, row->device_model));
    if (!bytes) return problem(job_text(job.seq) + " passed, and its board has no row");
    const auto holder = decode<LeaderboardRow>(*bytes);
    if (holder && is_better(*row, *holder)) {
      problem(job_text(job.seq) + " is faster than " + job_text(holder->seq) + ", which holds its board");
    }
  }

  void id(std::string_view key, std::string_view value) {
    const auto hash = hash_from_bytes(key);
    const auto seq = sequence_from(value);
    if (!hash || !seq) return problem("an entry is unreadable");
    const auto job = need(read_job(store_, *seq), "key " + to_hex(*hash) + ": " + job_text(*seq));
    if (job && job->key != *hash) problem("key " + to_hex(*hash) + " leads to " + job_text(*seq) + ", which has another key");
  }

  void result(std::string_view key, std::string_view value) {
    ++found_.results_n;
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
    ++found_.blobs_n;
    found_.blob_bytes += value.size();
    const auto place = blob_place_from(key);
    if (!place) return problem("a key is no hash");
    const auto& [hash, packing] = *place;
    const Blob blob{.hash = hash, .bytes = std::string(value), .packing = packing};
    if (const auto content = view_of(decompressor_, blob); !content) problem("file " + to_hex(hash) + ": " + content.error().message);
  }

  void label(std::string_view key, std::string_view value) {
    ++found_.labels_n;
    const auto entry = decode<RunEntry>(value);
    if (!entry) return problem("an entry: " + entry.error().message);
    const std::string run(key.substr(0, key.find('\0')));
    if (is_as_first_submitted(*entry)) {
      need(read_body(store_, entry->seq), "run '" + run + "': " + job_text(entry->seq));
      return;
    }
    if (key != run_key(run, entry->submission.label)) problem("run '" + run + "', an entry stands under another label than its own");
    need(read_job(store_, entry->seq), "run '" + run + "', label '" + entry->submission.label + "': " + job_text(entry->seq));
  }

  // Who holds a board passed with these figures. The row keeps the names under which it was first submitted.
  void board(std::string_view key, std::string_view value) {
    ++found_.board_rows_n;
    const auto row = decode<LeaderboardRow>(value);
    if (!row) return problem("a row: " + row.error().message);
    const std::string who = "'" + row->problem + "' on " + row->device_model + ": " + job_text(row->seq);
    if (key != board_key(row->problem_hash, row->device_model)) problem(who + " stands on another board than its own");
    const auto job = need(read_job(store_, row->seq), who);
    const auto body = need(read_body(store_, row->seq), who + ", its submission");
    const auto result = need(read_result(store_, row->seq, false), who + ", its result");
    if (!job || !body || !result) return;
    if (board_row(*body, *result, row->seq, job->finished_at_ms) != *row) problem(who + " did not pass with what the row says");
  }

  void queue_entry(std::string_view key, std::string_view value) {
    const auto place = queue_place_from(key);
    const auto entry = queue_entry_from(value);
    if (!place || !entry) return problem("an entry is unreadable");
    ++entries_n_;
    const auto job = need(read_job(store_, place->seq), job_text(place->seq));
    if (!job) return;
    const bool is_there = entry->leased ? job->state == JobState::leased : job->state == JobState::queued && job->not_before_ms == 0;
    if (!is_there) problem(job_text(place->seq) + " has a place and is " + std::string(to_string(job->state)));
    const auto bytes = value_of(Family::meta, numbered_key(kClassPrefix, place->lane.needs));
    const auto needs = bytes ? decode<Requirements>(*bytes) : bad_input("none");
    const auto submitter = value_of(Family::meta, numbered_key(kSubmitterPrefix, place->lane.submitter));
    if (!needs || *needs != job->needs || !submitter || *submitter != job->submitter || job->priority != place->lane.priority) {
      problem(job_text(place->seq) + " stands in another lane than its own");
    }
  }

  void timer(std::string_view key, std::string_view) {
    if (!timer_place_from(key)) problem("an entry is unreadable");
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
    if (!seq || !object) return problem((seq ? job_text(*seq) : "a key") + " is unreadable" + (object ? "" : ": " + object.error().message));
    if (sha256(object->bytes) != object->hash) problem(job_text(*seq) + ": the object is not what its name says");
    const auto job = need(read_job(store_, *seq), job_text(*seq));
    if (job && job->state == JobState::finished) problem(job_text(*seq) + " is finished and has an object");
  }

  void totals() {
    family_ = Family::queue;
    if (entries_n_ != placed_n_) {
      problem(std::to_string(entries_n_) + " entries for " + std::to_string(placed_n_) + " jobs that are queued or leased");
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
  Sequence oldest_ = 0;
  Sequence newest_ = 0;
  std::uint64_t placed_n_ = 0;   // jobs that have a place in the queue by their records
  std::uint64_t entries_n_ = 0;  // places in the queue
};

}  // namespace

Expected<Verified> verify(const Store& store, const std::function<void(const std::string&)>& report) {
  return Verification(store, report).run();
}

}  // namespace kq
