#include "broker/gc/retention.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "broker/core/state.h"
#include "broker/gc/file_sweep.h"
#include "broker/tables/timers.h"
#include "core/codec/codec.h"
#include "core/leaderboard.h"
#include "core/records.h"
#include "store/keys.h"

namespace kq::broker {
namespace {

// Sequences are in the order of submission but for jobs that were brought back. After so many in a row that are too
// young the others are too; a greater batch of jobs brought back hides the old ones behind it until it is old itself.
constexpr std::uint64_t kYoungInARow = 4'096;

// A walk may take a while where much is left. It rests for so many times as long.
constexpr std::int64_t kRestPerWalk = 10;

tl::unexpected<Error> damaged(store::Family family, const std::string& what) {
  return our_fault("store, family '" + std::string(to_string(family)) + "': " + what);
}

std::string job_text(Sequence seq) {
  return "job " + std::to_string(seq);
}

// How long jobs are kept, by their sequence.
class Terms {
 public:
  explicit Terms(const State& state) : options_(state.options) {
    if (options_.keep_jobs != 0 && state.next_sequence > options_.keep_jobs)
      too_many_below_ = state.next_sequence - options_.keep_jobs;
  }

  bool any() const { return options_.keep_ms != 0 || options_.keep_jobs != 0; }
  // From its end, or from when it was last asked for. Nothing: for ever, and so is every later job.
  std::optional<std::int64_t> of(Sequence seq) const {
    const std::int64_t by_age = options_.keep_ms;
    if (seq < too_many_below_) return by_age == 0 ? options_.keep_ms_min : std::min(by_age, options_.keep_ms_min);
    return by_age == 0 ? std::nullopt : std::optional(by_age);
  }

 private:
  const BrokerOptions& options_;
  Sequence too_many_below_ = 0;
};

// One step of the walk over jobs.
class JobsStep {
 public:
  explicit JobsStep(Step& step)
      : step_(step), state_(step.state), store_(*step.state.store), walk_(step.state.retention), terms_(step.state) {}

  // Gives whether the walk is over.
  Expected<bool> run() {
    auto is_over = collect();
    if (!is_over) return is_over;
    for (const auto part : {&JobsStep::spare_reused, &JobsStep::read_bodies, &JobsStep::spare_boards,
                            &JobsStep::find_labels, &JobsStep::find_dead}) {
      if (!old_.empty()) {
        KQ_TRY((this->*part)());
      }
    }
    for (Old& old : old_) remove(old);
    move_on();
    return is_over;
  }

 private:
  struct Old {
    JobRecord record;
    std::string first_label{};          // of its submission
    Hash board{};                       // board_hash() of its problem
    std::vector<std::string> labels{};  // keys of family run that may name it
    std::vector<std::string> reuse_keys{};
    bool is_spared = false;
    bool is_dead = false;  // a dead letter
  };

  Expected<bool> collect() {
    const Sequence end = std::min(walk_.at + Retention::kSpanPerStep, state_.next_sequence);
    bool is_over = end == state_.next_sequence;
    bool is_whole = true;  // the span was seen to its end
    std::size_t read_n = 0;
    std::optional<Error> damage;
    const auto visit = [&](std::string_view key, std::string_view value) {
      if (read_n >= state_.options.records_read_per_step_max ||
          old_.size() >= state_.options.jobs_removed_per_step_max) {
        is_over = is_whole = false;
        return false;
      }
      auto record = decode<JobRecord>(value);
      const auto seq = store::sequence_from(key);
      if (!record || !seq) {
        damage = Error{ErrorKind::our_fault,
                       "store, family 'state': " + (record ? "a key is unreadable" : record.error().message)};
        return false;
      }
      const auto term_ms = terms_.of(*seq);
      if (!term_ms || walk_.young_n >= kYoungInARow) {
        stay(*seq);
        is_over = true;
        is_whole = false;
        return false;
      }
      ++read_n;
      walk_.at = *seq + 1;
      walk_.young_n = record->submitted_at_ms + *term_ms > step_.now_ms ? walk_.young_n + 1 : 0;
      if (record->state == JobState::finished && record->finished_at_ms + *term_ms <= step_.now_ms) {
        old_.push_back({.record = std::move(*record)});
      } else {
        stay(*seq);
      }
      return true;
    };
    if (auto scanned =
            store_.scan(store::Family::state, store::sequence_key(walk_.at), store::sequence_key(end), visit);
        !scanned) {
      return failure(std::move(scanned.error()));
    }
    if (damage) return failure(std::move(*damage));
    if (is_whole) walk_.at = end;
    return is_over;
  }

  void stay(Sequence seq) {
    if (walk_.survivor == 0 || seq < walk_.survivor) walk_.survivor = seq;
  }

  Old* find(Sequence seq) {
    const auto place =
        std::lower_bound(old_.begin(), old_.end(), seq, [](const Old& old, Sequence n) { return old.record.seq < n; });
    return place == old_.end() || place->record.seq != seq ? nullptr : &*place;
  }

  void drop_spared() {
    for (const Old& old : old_) {
      if (old.is_spared) stay(old.record.seq);
    }
    std::erase_if(old_, [](const Old& old) { return old.is_spared; });
  }

  // Who was asked for again is as young as he was at his end.
  Expected<void> spare_reused() {
    bool well_formed = true;
    const auto visit = [&](std::string_view key, std::string_view value) {
      const auto place = store::reuse_place_from(key);
      const auto at_ms = store::reused_at_ms_from(value);
      well_formed = place && at_ms;
      if (!well_formed) return false;
      Old* old = find(place->seq);
      if (old == nullptr) return true;
      old->labels.emplace_back(place->run_key);
      old->reuse_keys.emplace_back(key);
      if (*at_ms + *terms_.of(place->seq) > step_.now_ms) old->is_spared = true;
      return true;
    };
    const std::string end = store::sequence_key(old_.back().record.seq + 1);
    if (auto scanned = store_.scan(store::Family::reuse, store::sequence_key(old_.front().record.seq), end, visit);
        !scanned)
      return scanned;
    if (!well_formed) return damaged(store::Family::reuse, "an entry is unreadable");
    drop_spared();
    return {};
  }

  // Whose submission is lost stays: which boards and runs name it cannot be told.
  Expected<void> read_bodies() {
    std::vector<std::string> seq_keys;
    for (const Old& old : old_) seq_keys.push_back(store::sequence_key(old.record.seq));
    KQ_TRY_VALUE(const auto bodies, store_.get_many(store::Family::body, seq_keys));
    for (std::size_t i = 0; i < old_.size(); ++i) {
      Old& old = old_[i];
      const std::optional<std::string>& body = bodies[i];
      if (!body) {
        old.is_spared = true;
        continue;
      }
      auto submission = decode<Submission>(*body);
      if (!submission)
        return damaged(store::Family::body, job_text(old.record.seq) + ": " + submission.error().message);
      old.board = board_hash(submission->problem);
      old.first_label = std::move(submission->label);
    }
    drop_spared();
    return {};
  }

  Expected<void> spare_boards() {
    std::set<Hash> boards;
    for (const Old& old : old_) boards.insert(old.board);
    for (const Hash& board : boards) {
      std::optional<Error> damage;
      const auto visit = [&](std::string_view key, std::string_view value) {
        if (!key.starts_with(as_bytes(board))) return false;
        const auto row = decode<LeaderboardRow>(value);
        if (!row) {
          damage = Error{ErrorKind::our_fault, "store, family 'board': " + row.error().message};
          return false;
        }
        if (Old* old = find(row->seq)) old->is_spared = true;
        return true;
      };
      if (auto scanned = store_.scan(store::Family::board, as_bytes(board), "", visit); !scanned) return scanned;
      if (damage) return failure(std::move(*damage));
    }
    drop_spared();
    return {};
  }

  // Of the entries that may name a job those that do.
  Expected<void> find_labels() {
    std::vector<std::string> keys;
    for (Old& old : old_) {
      std::string first = store::run_key(old.record.run, old.first_label);
      if (std::find(old.labels.begin(), old.labels.end(), first) == old.labels.end())
        old.labels.push_back(std::move(first));
      keys.insert(keys.end(), old.labels.begin(), old.labels.end());
    }
    KQ_TRY_VALUE(const auto entries, store_.get_many(store::Family::run, keys));
    auto entry = entries.begin();
    for (Old& old : old_) {
      std::vector<std::string> its;
      for (std::string& label : old.labels) {
        const std::optional<std::string>& bytes = *entry++;
        if (!bytes) continue;
        const auto read = decode<RunEntry>(*bytes);
        if (!read) return damaged(store::Family::run, read.error().message);
        if (read->seq == old.record.seq) its.push_back(std::move(label));
      }
      old.labels = std::move(its);
    }
    return {};
  }

  Expected<void> find_dead() {
    const auto visit = [&](std::string_view key, std::string_view) {
      if (Old* old = find(store::sequence_from(key).value_or(0))) old->is_dead = true;
      return true;
    };
    return store_.scan(store::Family::dead, store::sequence_key(old_.front().record.seq),
                       store::sequence_key(old_.back().record.seq + 1), visit);
  }

  void remove(Old& old) {
    const JobRecord& record = old.record;
    Ready& ready = step_.ready;
    for (std::string& label : old.labels) ready.erase(store::Family::run, std::move(label));
    for (std::string& key : old.reuse_keys) ready.erase(store::Family::reuse, std::move(key));
    ready.erase(store::Family::ids, store::hash_key(record.key));
    for (const store::Family family :
         {store::Family::state, store::Family::body, store::Family::result, store::Family::samples})
      ready.erase(family, store::sequence_key(record.seq));
    if (old.is_dead) ready.erase(store::Family::dead, store::sequence_key(record.seq));
    // Of a job that began before its deadline it may not have come.
    if (record.deadline_ms != 0)
      clear_timer(step_, {.at_ms = record.deadline_ms, .kind = store::TimerKind::expires, .seq = record.seq});
    walk_.removed.insert(record.seq);
    ++walk_.removed_n;
    state_.metrics.removed_job();
  }

  void move_on() {
    const Sequence from = walk_.survivor != 0 ? walk_.survivor : walk_.at;
    if (from <= walk_.from) return;
    walk_.from = from;
    step_.ready.write(store::Family::meta, std::string(store::kRetainedFromKey), store::sequence_key(from));
  }

  Step& step_;
  State& state_;
  const store::Store& store_;
  Retention& walk_;
  const Terms terms_;
  std::vector<Old> old_;  // by sequence
};

void rest(Step& step) {
  Retention& walk = step.state.retention;
  walk.walk = Retention::Walk::none;
  walk.named = HashFilter();
  walk.next_ms =
      step.now_ms + std::max(step.state.options.retention_rest_ms, kRestPerWalk * (step.now_ms - walk.began_ms));
}

// The walk that is under way makes a step, or the next one begins.
Expected<void> walk_on(Step& step) {
  State& state = step.state;
  Retention& walk = state.retention;
  switch (walk.walk) {
    case Retention::Walk::none:
      walk.walk = Retention::Walk::jobs;
      walk.at = walk.from;
      walk.survivor = 0;
      walk.young_n = 0;
      walk.began_ms = step.now_ms;
      [[fallthrough]];
    case Retention::Walk::jobs: {
      KQ_TRY_VALUE(const auto is_over, JobsStep(step).run());
      if (!is_over) return {};
      if (!wants_files_swept(state, step.now_ms)) {
        rest(step);
        return {};
      }
      walk.walk = Retention::Walk::submissions;
      walk.at = walk.from;
      walk.named = HashFilter(state.next_sequence - walk.from, ++walk.walks_n);
      return {};
    }
    case Retention::Walk::submissions: {
      KQ_TRY_VALUE(const auto is_over, name_some(step));
      if (is_over) walk.walk = Retention::Walk::files;
      walk.file_at.clear();
      return {};
    }
    case Retention::Walk::files: {
      KQ_TRY_VALUE(const auto is_over, remove_some_files(step));
      if (!is_over) return {};
      walk.removed_n = 0;
      walk.files_at_ms = step.now_ms;
      rest(step);
      return {};
    }
  }
  return {};
}

}  // namespace

void Retention::begin_at(Sequence first, std::int64_t now_ms) {
  from = first;
  removed_n = 1;  // perhaps its files were not swept
  files_at_ms = now_ms;
}

Expected<void> retain(Step& step) {
  Retention& walk = step.state.retention;
  walk.removed.clear();
  walk.removed_files.clear();
  if (!Terms(step.state).any()) return {};
  if (walk.files_at_ms == 0) walk.files_at_ms = step.now_ms;
  if (step.now_ms >= walk.next_ms) {
    walk.next_ms = step.now_ms + step.state.options.retention_gap_ms;
    if (auto done = walk_on(step); !done) return done;
  }
  if (walk.walk != Retention::Walk::none) step.ready.wake_at(walk.next_ms);
  return {};
}

}  // namespace kq::broker
