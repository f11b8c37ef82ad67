#include "broker/gc/retention.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "broker/core/step.h"
#include "broker/gc/file_sweep.h"
#include "core/codec/codec.h"
#include "core/leaderboard.h"
#include "core/records.h"
#include "store/boards.h"
#include "store/keys.h"

namespace kq::broker {
namespace {

// Sequences are in the order of submission, except for jobs that were queued again. After this many jobs in a row that
// are too recent, the walk takes all later ones for too recent. A larger batch of jobs that were queued again hides the
// old jobs behind it until the batch is old itself.
constexpr std::uint64_t kTooRecentInARow = 4'096;

// The pause after a walk is at least this many times as long as the walk.
constexpr std::int64_t kPausePerWalk = 10;

tl::unexpected<Error> damaged(store::Family family, const std::string& damage) {
  return our_fault("store, family '" + std::string(to_string(family)) + "': " + damage);
}

std::string job_text(Sequence seq) {
  return "job " + std::to_string(seq);
}

// How long finished jobs are kept.
class KeepRules {
 public:
  explicit KeepRules(const State& state) : options_(state.options) {
    if (options_.keep_jobs != 0 && state.next_sequence > options_.keep_jobs)
      too_many_below_ = state.next_sequence - options_.keep_jobs;
  }

  bool any() const { return options_.keep_ms != 0 || options_.keep_jobs != 0; }
  // Returns how long the job is kept after its end, or after it was last asked for. Nothing means that this job and all
  // later ones are kept for ever.
  std::optional<std::int64_t> keep_ms(Sequence seq) const {
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
      : step_(step), state_(step.state), store_(*step.state.store), walk_(step.state.retention), rules_(step.state) {}

  // Returns whether the walk is complete.
  Expected<bool> run() {
    auto is_over = collect();
    if (!is_over) return is_over;
    for (const auto part : {&JobsStep::retain_reused, &JobsStep::read_bodies, &JobsStep::retain_board_rows,
                            &JobsStep::find_labels, &JobsStep::find_dead}) {
      if (!candidates_.empty()) {
        KQ_TRY((this->*part)());
      }
    }
    for (Candidate& job : candidates_) remove(job);
    KQ_TRY(remove_kernels());
    advance_start();
    return is_over;
  }

 private:
  // A job that is old enough to be removed.
  struct Candidate {
    JobRecord record;
    std::string first_label{};               // the label of its submission
    Hash board{};                            // board_hash() of its submission
    Hash kernel{};                           // kernel_hash() of its submission
    std::vector<std::string> kernel_keys{};  // rows of family kernel that end with the job
    std::vector<std::string> labels{};       // keys of family run that may name the job
    std::vector<std::string> reuse_keys{};
    bool is_retained = false;
    bool is_dead = false;  // whether the job is a dead letter
  };

  Expected<bool> collect() {
    const Sequence end = std::min(walk_.at + Retention::kSpanPerStep, state_.next_sequence);
    bool is_over = end == state_.next_sequence;
    bool is_whole = true;  // whether the span was read to its end
    std::size_t read_count = 0;
    std::optional<Error> damage;
    const auto visit = [&](std::string_view key, std::string_view value) {
      if (read_count >= state_.options.records_read_per_step_max ||
          candidates_.size() >= state_.options.jobs_removed_per_step_max) {
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
      const auto term_ms = rules_.keep_ms(*seq);
      if (!term_ms || walk_.too_recent_count >= kTooRecentInARow) {
        skip(*seq);
        is_over = true;
        is_whole = false;
        return false;
      }
      ++read_count;
      walk_.at = *seq + 1;
      walk_.too_recent_count = record->submitted_at_ms + *term_ms > step_.now_ms ? walk_.too_recent_count + 1 : 0;
      if (record->state == JobState::finished && record->finished_at_ms + *term_ms <= step_.now_ms) {
        candidates_.push_back({.record = std::move(*record)});
      } else {
        skip(*seq);
      }
      return true;
    };
    KQ_TRY(store_.scan(store::Family::state, store::sequence_key(walk_.at), store::sequence_key(end), visit));
    if (damage) return failure(std::move(*damage));
    if (is_whole) walk_.at = end;
    return is_over;
  }

  void skip(Sequence seq) {
    if (walk_.first_kept == 0 || seq < walk_.first_kept) walk_.first_kept = seq;
  }

  Candidate* find(Sequence seq) {
    const auto place = std::lower_bound(candidates_.begin(), candidates_.end(), seq,
                                        [](const Candidate& job, Sequence n) { return job.record.seq < n; });
    return place == candidates_.end() || place->record.seq != seq ? nullptr : &*place;
  }

  void drop_retained() {
    for (const Candidate& job : candidates_) {
      if (job.is_retained) skip(job.record.seq);
    }
    std::erase_if(candidates_, [](const Candidate& job) { return job.is_retained; });
  }

  // A job that was asked for again is kept as long as if it had ended then.
  Expected<void> retain_reused() {
    bool well_formed = true;
    const auto visit = [&](std::string_view key, std::string_view value) {
      const auto place = store::reuse_place_from(key);
      const auto at_ms = store::reused_at_ms_from(value);
      well_formed = place && at_ms;
      if (!well_formed) return false;
      Candidate* job = find(place->seq);
      if (job == nullptr) return true;
      job->labels.emplace_back(place->run_key);
      job->reuse_keys.emplace_back(key);
      if (*at_ms + *rules_.keep_ms(place->seq) > step_.now_ms) job->is_retained = true;
      return true;
    };
    const std::string end = store::sequence_key(candidates_.back().record.seq + 1);
    KQ_TRY(store_.scan(store::Family::reuse, store::sequence_key(candidates_.front().record.seq), end, visit));
    if (!well_formed) return damaged(store::Family::reuse, "an entry is unreadable");
    drop_retained();
    return {};
  }

  // A job whose submission is lost stays, because its leaderboard and its runs are unknown.
  Expected<void> read_bodies() {
    std::vector<std::string> seq_keys;
    for (const Candidate& job : candidates_) seq_keys.push_back(store::sequence_key(job.record.seq));
    KQ_TRY_VALUE(const auto bodies, store_.get_many(store::Family::body, seq_keys));
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      Candidate& job = candidates_[i];
      const std::optional<std::string>& body = bodies[i];
      if (!body) {
        job.is_retained = true;
        continue;
      }
      auto submission = decode<Submission>(*body);
      if (!submission)
        return damaged(store::Family::body, job_text(job.record.seq) + ": " + submission.error().message);
      job.board = board_hash(*submission);
      job.kernel = kernel_hash(*submission);
      job.first_label = std::move(submission->label);
    }
    drop_retained();
    return {};
  }

  Expected<void> retain_board_rows() {
    std::set<Hash> boards;
    for (const Candidate& job : candidates_) boards.insert(job.board);
    for (const Hash& board : boards) {
      std::optional<Error> damage;
      const auto visit = [&](std::string_view key, std::string_view value) {
        if (!key.starts_with(as_bytes(board))) return false;
        const auto row = decode<LeaderboardRow>(value);
        if (!row) {
          damage = Error{ErrorKind::our_fault, "store, family 'board': " + row.error().message};
          return false;
        }
        if (Candidate* job = find(row->seq)) job->is_retained = true;
        return true;
      };
      KQ_TRY(store_.scan(store::Family::board, as_bytes(board), "", visit));
      if (damage) return failure(std::move(*damage));
      // An event of this turn may have given the place to another kernel.
      const std::string prefix(as_bytes(board));
      for (auto place = state_.boards.rows.lower_bound({store::Family::board, prefix});
           place != state_.boards.rows.end() && place->first.first == store::Family::board &&
           place->first.second.starts_with(prefix);
           ++place) {
        if (Candidate* job = place->second ? find(place->second->seq) : nullptr) job->is_retained = true;
      }
    }
    drop_retained();
    // The figure of a kernel lasts as long as its first run.
    for (Candidate& job : candidates_) {
      KQ_TRY_VALUE(auto keys, store::kernels_begun_by(store_, job.board, job.kernel, job.record.seq));
      job.kernel_keys = std::move(keys);
    }
    return {};
  }

  // Finds out which of the entries that may name a job do name it.
  Expected<void> find_labels() {
    std::vector<std::string> keys;
    for (Candidate& job : candidates_) {
      std::string first = store::run_key(job.record.run, job.first_label);
      if (std::find(job.labels.begin(), job.labels.end(), first) == job.labels.end())
        job.labels.push_back(std::move(first));
      keys.insert(keys.end(), job.labels.begin(), job.labels.end());
    }
    KQ_TRY_VALUE(const auto entries, store_.get_many(store::Family::run, keys));
    auto entry = entries.begin();
    for (Candidate& job : candidates_) {
      std::vector<std::string> own;
      for (std::string& label : job.labels) {
        const std::optional<std::string>& bytes = *entry++;
        if (!bytes) continue;
        const auto read = decode<RunEntry>(*bytes);
        if (!read) return damaged(store::Family::run, read.error().message);
        if (read->seq == job.record.seq) own.push_back(std::move(label));
      }
      job.labels = std::move(own);
    }
    return {};
  }

  Expected<void> find_dead() {
    const auto visit = [&](std::string_view key, std::string_view) {
      if (Candidate* job = find(store::sequence_from(key).value_or(0))) job->is_dead = true;
      return true;
    };
    return store_.scan(store::Family::dead, store::sequence_key(candidates_.front().record.seq),
                       store::sequence_key(candidates_.back().record.seq + 1), visit);
  }

  void remove(Candidate& job) {
    const JobRecord& record = job.record;
    Ready& ready = step_.ready;
    for (std::string& label : job.labels) ready.erase(store::Family::run, std::move(label));
    for (std::string& key : job.reuse_keys) ready.erase(store::Family::reuse, std::move(key));
    ready.erase(store::Family::ids, store::hash_key(record.key));
    for (const store::Family family :
         {store::Family::state, store::Family::body, store::Family::result, store::Family::samples})
      ready.erase(family, store::sequence_key(record.seq));
    if (job.is_dead) ready.erase(store::Family::dead, store::sequence_key(record.seq));
    // The timer of the deadline may still be there if the job began before its deadline.
    if (record.deadline_ms != 0) {
      const store::TimerPlace timer{.at_ms = record.deadline_ms, .kind = store::TimerKind::expires, .seq = record.seq};
      ready.erase(store::Family::timer, store::timer_key(timer));
    }
    walk_.removed.insert(record.seq);
    ++walk_.removed_count;
    state_.metrics.removed_job();
  }

  Expected<void> remove_kernels() {
    std::vector<std::string> keys;
    for (Candidate& job : candidates_) std::ranges::move(job.kernel_keys, std::back_inserter(keys));
    const auto write = [this](store::Family family, std::string key, std::optional<std::string> value) {
      if (value)
        step_.ready.write(family, std::move(key), std::move(*value));
      else
        step_.ready.erase(family, std::move(key));
    };
    return store::remove_from_boards(store_, state_.boards, keys, write);
  }

  void advance_start() {
    const Sequence from = walk_.first_kept != 0 ? walk_.first_kept : walk_.at;
    if (from <= walk_.from) return;
    walk_.from = from;
    step_.ready.write(store::Family::meta, std::string(store::kRetainedFromKey), store::sequence_key(from));
  }

  Step& step_;
  State& state_;
  const store::Store& store_;
  Retention& walk_;
  const KeepRules rules_;
  std::vector<Candidate> candidates_;  // in the order of sequences
};

void end_walk(Step& step) {
  Retention& walk = step.state.retention;
  walk.phase = Retention::Phase::none;
  walk.named = HashFilter();
  walk.next_ms =
      step.now_ms + std::max(step.state.options.retention_pause_ms, kPausePerWalk * (step.now_ms - walk.began_ms));
}

// Does a step of the walk that is under way, or begins the next one.
Expected<void> continue_walk(Step& step) {
  State& state = step.state;
  Retention& walk = state.retention;
  switch (walk.phase) {
    case Retention::Phase::none:
      walk.phase = Retention::Phase::jobs;
      walk.at = walk.from;
      walk.first_kept = 0;
      walk.too_recent_count = 0;
      walk.began_ms = step.now_ms;
      [[fallthrough]];
    case Retention::Phase::jobs: {
      KQ_TRY_VALUE(const auto is_over, JobsStep(step).run());
      if (!is_over) return {};
      if (!wants_files_swept(state, step.now_ms)) {
        end_walk(step);
        return {};
      }
      walk.phase = Retention::Phase::submissions;
      walk.at = walk.from;
      walk.named = HashFilter(state.next_sequence - walk.from, ++walk.walk_count);
      return {};
    }
    case Retention::Phase::submissions: {
      KQ_TRY_VALUE(const auto is_over, collect_named_files(step));
      if (is_over) walk.phase = Retention::Phase::files;
      walk.file_at.clear();
      return {};
    }
    case Retention::Phase::files: {
      KQ_TRY_VALUE(const auto is_over, remove_unnamed_files(step));
      if (!is_over) return {};
      walk.removed_count = 0;
      walk.last_sweep_ms = step.now_ms;
      end_walk(step);
      return {};
    }
  }
  return {};
}

}  // namespace

Expected<void> retain(Step& step) {
  Retention& walk = step.state.retention;
  walk.removed.clear();
  walk.removed_files.clear();
  if (!KeepRules(step.state).any()) return {};
  if (walk.last_sweep_ms == 0) walk.last_sweep_ms = step.now_ms;
  if (step.now_ms >= walk.next_ms) {
    walk.next_ms = step.now_ms + step.state.options.retention_step_interval_ms;
    KQ_TRY(continue_walk(step));
  }
  if (walk.phase != Retention::Phase::none) step.ready.wake_at(walk.next_ms);
  return {};
}

}  // namespace kq::broker
