// The part of the oracle that checks each commit: new jobs, changes of jobs, removals and leaderboard rows.
#include <algorithm>

#include "core/codec/codec.h"
#include "core/leaderboard.h"
#include "store/keys.h"
#include "store/reader.h"
#include "tests/sim/index.h"
#include "tests/sim/job_text.h"
#include "tests/sim/oracle.h"
#include "tests/sim/workload.h"

namespace kq::sim {
namespace {

// Returns the result of the job if `writes` holds it.
std::optional<Result> result_of(Sequence seq, std::span<const store::Write> writes) {
  const std::string key = store::sequence_key(seq);
  for (const store::Write& write : writes) {
    if (write.family == store::Family::result && write.key == key && write.value) return *decode<Result>(*write.value);
  }
  return std::nullopt;
}

}  // namespace

void Oracle::committing(std::span<const store::Write> writes, const store::Store& disk) {
  check_removals(writes, disk);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const store::Write& write = writes[i];
    if (!write.value) {
      if (write.family == store::Family::dead && requests_.purges(*store::sequence_from(write.key)))
        dead_.erase(*store::sequence_from(write.key));
    } else if (write.family == store::Family::state) {
      check_job(*decode<JobRecord>(*write.value), writes.subspan(i + 1), disk);
    } else if (write.family == store::Family::object) {
      const auto object = decode<BuildObject>(*write.value);
      if (sha256(object->bytes) != object->hash) violated("an artifact was stored whose bytes do not match its hash");
      if (is_disk_full_) violated("an artifact was stored although the disk is nearly full");
    } else if (write.family == store::Family::ids) {
      const auto known = keys_.find(*hash_from_bytes(write.key));
      if (known == keys_.end() || known->second != store::sequence_from(*write.value))
        violated("an entry of the key index names another job");
    }
  }
  for (const store::Write& write : writes) {
    if (write.family == store::Family::run && write.value) named_[write.key] = decode<RunEntry>(*write.value)->seq;
    if (write.family == store::Family::kernel && write.value)
      check_kernel_write(write.key, *decode<LeaderboardRow>(*write.value));
  }
}

// Checks the removals of a commit. Retention may remove whole jobs that finished long ago, and files that no job names.
// No other permanent record may be removed.
void Oracle::check_removals(std::span<const store::Write> writes, const store::Store& disk) {
  std::set<Sequence> gone;
  for (const store::Write& write : writes) {
    if (write.family != store::Family::state || write.value) continue;
    const Sequence seq = store::sequence_from(write.key).value_or(0);
    const auto place = jobs_.find(seq);
    if (place == jobs_.end()) {
      violated(text_of(seq) + " was removed but does not exist");
      continue;
    }
    check_removed_job(place->second, disk);
    gone.insert(seq);
  }
  for (const store::Write& write : writes) {
    if (write.value || !is_permanent(write.family) || write.family == store::Family::state) continue;
    if (write.family == store::Family::blob) {
      ++removed_file_count_;
      check_removed_file(*hash_from_bytes(std::string_view(write.key).substr(0, sizeof(Hash::bytes))), writes, disk);
    } else {
      check_removed_key(write, gone, disk);
    }
  }
  for (const Sequence seq : gone) {
    keys_.erase(jobs_.at(seq).key);
    jobs_.erase(seq);
    verdicts_.erase(seq);
    dead_.erase(seq);
    removed_.insert(seq);
  }
}

void Oracle::check_removed_job(const JobRecord& job, const store::Store& disk) {
  if (job.state != JobState::finished) violated(text_of(job) + " was removed before it was finished");
  std::int64_t last_use_ms = job.finished_at_ms;
  (void)disk.scan(store::Family::reuse, store::sequence_key(job.seq), store::sequence_key(job.seq + 1),
                  [&](auto, std::string_view value) {
                    last_use_ms = std::max(last_use_ms, store::reused_at_ms_from(value).value_or(0));
                    return true;
                  });
  const std::int64_t age_ms = clock_->now_ms() - last_use_ms;
  const bool old = options_.keep_ms != 0 && age_ms >= options_.keep_ms;
  const bool too_many =
      options_.keep_jobs != 0 && job.seq + options_.keep_jobs <= newest_ && age_ms >= options_.keep_ms_min;
  if (!old && !too_many) violated(text_of(job) + " was removed " + std::to_string(age_ms) + " ms after its last use");
  (void)disk.scan(store::Family::board, "", "", [&](std::string_view, std::string_view value) {
    if (decode<LeaderboardRow>(value)->seq == job.seq)
      violated(text_of(job) + " was removed although a board has its row");
    return true;
  });
  std::erase_if(kernels_, [&](const auto& entry) { return entry.second.seq == job.seq; });
}

void Oracle::check_removed_key(const store::Write& write, const std::set<Sequence>& gone, const store::Store& disk) {
  Sequence seq = 0;
  const auto bytes = disk.get(write.family, write.key);
  if (write.family == store::Family::ids) {
    seq = bytes && *bytes ? store::sequence_from(**bytes).value_or(0) : 0;
  } else if (write.family == store::Family::run) {
    seq = bytes && *bytes ? decode<RunEntry>(**bytes)->seq : 0;
  } else if (write.family == store::Family::reuse) {
    seq = store::reuse_place_from(write.key)->seq;
  } else if (write.family == store::Family::kernel) {
    seq = bytes && *bytes ? decode<LeaderboardRow>(**bytes)->seq : 0;
  } else if (write.family != store::Family::board) {
    seq = store::sequence_from(write.key).value_or(0);
  }
  if (!gone.contains(seq))
    violated("a record of family " + std::string(to_string(write.family)) + " was removed without its job");
}

void Oracle::check_removed_file(const Hash& hash, std::span<const store::Write> writes, const store::Store& disk) {
  const auto names = [&](const Submission& submission) {
    return submission.problem.hash == hash || std::any_of(submission.files.begin(), submission.files.end(),
                                                          [&](const SourceFile& file) { return file.hash == hash; });
  };
  const auto is_put = [&](const store::Write& write) {
    return write.family == store::Family::blob && write.value &&
           std::string_view(write.key).starts_with(as_bytes(hash));
  };
  if (std::any_of(writes.begin(), writes.end(), is_put)) return;  // the same commit writes the file again
  for (const auto& [seq, job] : jobs_) {
    const auto body = store::read_body(disk, seq);
    if (body && *body && names(**body)) violated("a file that " + text_of(seq) + " names was removed");
  }
  for (const store::Write& write : writes) {
    if (write.family == store::Family::body && write.value && names(*decode<Submission>(*write.value))) {
      violated("a file was removed in the turn in which a job that names it was accepted");
    }
  }
}

void Oracle::check_job(const JobRecord& next, std::span<const store::Write> later, const store::Store& disk) {
  const auto [owner, is_new_key] = keys_.emplace(next.key, next.seq);
  if (owner->second != next.seq) violated(text_of(next.seq) + " and " + text_of(owner->second) + " have the same key");
  const auto place = jobs_.find(next.seq);
  auto& turn = turn_[next.seq];
  if (place == jobs_.end()) {
    if (next.state != JobState::queued || next.attempt != 0)
      violated(text_of(next) + " is not the first state of a job");
    if (next.seq <= newest_) violated(text_of(next) + " has a number that was used before");
    newest_ = std::max(newest_, next.seq);
    check_requested(next, false);
  } else {
    const JobRecord& before = place->second;
    if (turn.empty()) turn.push_back(before);
    if (next.key != before.key) violated("the key of " + text_of(next.seq) + " has changed");
    check_change(before, next, later, disk);
  }
  turn.push_back(next);
  jobs_[next.seq] = next;
}

void Oracle::check_change(const JobRecord& before, const JobRecord& next, std::span<const store::Write> later,
                          const store::Store& disk) {
  const bool begins = before.state == JobState::queued && next.state == JobState::leased;
  if (next.attempt != before.attempt + (begins ? 1 : 0)) violated(text_of(before) + " became " + text_of(next));
  if (begins) return check_begin(before, next);
  if (next.state == JobState::finished && before.state != JobState::finished)
    return check_end(before, next, later, disk);
  if (before.state == JobState::finished) return check_revival(next, before);
  if (before.state == JobState::leased && next.state == JobState::leased && is_merged(before, next)) return;
  if (next.state != JobState::queued) return violated(text_of(before) + " became " + text_of(next));
  const bool is_due = is_delayed(before) && !is_delayed(next) && clock_->now_ms() >= before.not_before_ms;
  if (before.state == JobState::queued && !is_due && !is_merged(before, next)) {
    violated(text_of(next) + " was written again before its start time and without a request that changes it");
  }
}

// Whether the submitters of the job are as before, but for those that submitted or cancelled it in this turn. The first
// submitter never changes.
bool Oracle::has_merged_submitters(const JobRecord& before, const JobRecord& next) const {
  const auto is_for = [](const JobRecord& job, const std::string& name) {
    return job.submitter == name || std::ranges::find(job.also_for, name) != job.also_for.end();
  };
  const auto is_kept = [&](const std::string& name) {
    return is_for(next, name) || requests_.cancels_for(next.seq, name);
  };
  const auto is_known = [&](const std::string& name) {
    return is_for(before, name) ||
           std::ranges::any_of(requests_.submissions(next.key),
                               [&](const RequestedJob& wanted) { return wanted.submitter == name; });
  };
  return first_submitter_of(next) == first_submitter_of(before) && is_kept(before.submitter) &&
         std::ranges::all_of(before.also_for, is_kept) && is_known(next.submitter) &&
         std::ranges::all_of(next.also_for, is_known);
}

// Whether the change merges submissions of the same work that came in this turn: priority, start time and deadline are
// each as before, or are the more urgent value of such a submission. The submitters may change with it.
bool Oracle::is_merged(const JobRecord& before, const JobRecord& next) const {
  JobRecord as_before = next;
  as_before.priority = before.priority;
  as_before.not_before_ms = before.not_before_ms;
  as_before.deadline_ms = before.deadline_ms;
  as_before.submitter = before.submitter;
  as_before.first_submitter = before.first_submitter;
  as_before.also_for = before.also_for;
  as_before.needs.labels = before.needs.labels;
  if (!std::ranges::includes(before.needs.labels, next.needs.labels) || !has_merged_submitters(before, next))
    return false;
  if (as_before != before || next.priority < before.priority) return false;
  const auto is_submitted = [&](const auto& matches) {
    return std::ranges::any_of(requests_.submissions(next.key),
                               [&](const RequestedJob& wanted) { return matches(wanted.submission); });
  };
  const bool priority = next.priority == before.priority ||
                        is_submitted([&](const Submission& one) { return one.priority == next.priority; });
  const bool time =
      next.not_before_ms == before.not_before_ms ||
      (before.failures == 0 && next.not_before_ms < before.not_before_ms && is_submitted([&](const Submission& one) {
         return one.not_before_ms == next.not_before_ms ||
                (next.not_before_ms == 0 && one.not_before_ms <= clock_->now_ms());
       }));
  const bool deadline = next.deadline_ms == before.deadline_ms ||
                        (before.deadline_ms != 0 && (next.deadline_ms == 0 || next.deadline_ms > before.deadline_ms) &&
                         is_submitted([&](const Submission& one) { return one.deadline_ms == next.deadline_ms; }));
  return priority && time && deadline;
}

void Oracle::check_begin(const JobRecord& before, const JobRecord& next) {
  if (is_delayed(before)) violated(text_of(next) + " began before its start time");
  if (begun_.insert(next.seq).second && next.deadline_ms != 0 && next.leased_at_ms > next.deadline_ms) {
    violated(text_of(next) + " began for the first time after its deadline");
  }
}

void Oracle::check_end(const JobRecord& before, const JobRecord& next, std::span<const store::Write> later,
                       const store::Store& disk) {
  const auto result = result_of(next.seq, later);
  if (!result) return violated(text_of(next) + " ended without a result");
  const VerdictName verdict = name_of(result->verdict);
  verdicts_[next.seq] = verdict;
  const std::string ending = text_of(next) + " ended as " + std::string(to_string(verdict));
  switch (verdict) {
    case VerdictName::cancelled:
      if (!requests_.cancels(before)) violated(ending + " without a request of an allowed client");
      return;
    case VerdictName::expired:
      if (before.state != JobState::queued || next.deadline_ms == 0 || clock_->now_ms() < next.deadline_ms)
        violated(ending + " although it was not queued or its deadline had not passed");
      return;
    case VerdictName::abandoned:
      dead_.insert(next.seq);
      if (next.failures < options_.attempts_max)
        violated(ending + " after " + std::to_string(next.failures) + " failures");
      return;
    default:
      break;
  }
  const LeaseId lease{next.seq, next.attempt};
  if (before.state != JobState::leased || tag_in(*result) != tag_of(lease)) {
    violated(text_of(before) + " got the result of attempt " + tag_in(*result));
  }
  if (!requests_.reports(lease)) violated(ending + " without a report of a worker");
  enter_board(next, *result, disk);
}

void Oracle::check_revival(const JobRecord& next, const JobRecord& before) {
  if (next.state != JobState::queued || row_of(verdicts_.at(next.seq)).terminal) {
    violated(text_of(before) + " became " + text_of(next));
  }
  if (!requests_.retries(next.seq)) check_requested(next, true);
  dead_.erase(next.seq);
  begun_.erase(next.seq);
}

// Checks that a client submitted exactly this job in this turn, and that neither the queue nor the submitter's quota
// was full.
void Oracle::check_requested(const JobRecord& record, bool is_revived) {
  const auto matches = [&](const RequestedJob& wanted) {
    const Submission& submission = wanted.submission;
    return record.submitter == wanted.submitter && record.run == wanted.run && record.priority == submission.priority &&
           record.problem == submission.problem.hash && record.deadline_ms == submission.deadline_ms &&
           (record.not_before_ms == submission.not_before_ms ||
            (record.not_before_ms == 0 && submission.not_before_ms <= clock_->now_ms())) &&
           (is_revived || record.needs == requirements_of(submission));
  };
  const auto& wanted = requests_.submissions(record.key);
  if (is_disk_full_) violated(text_of(record) + " was accepted although the disk is nearly full");
  if (std::none_of(wanted.begin(), wanted.end(), matches))
    violated(text_of(record) + " differs from every submission of this turn");
  std::uint64_t unfinished_count = 1;
  std::uint64_t own_count = 1;
  for (const auto& [seq, job] : jobs_) {
    if (job.state == JobState::finished) continue;
    ++unfinished_count;
    if (job.submitter == record.submitter) ++own_count;
  }
  if (unfinished_count > options_.unfinished_jobs_max)
    violated(text_of(record) + " exceeds the number of jobs that the queue may hold");
  if (own_count > options_.submitter_jobs_max) violated(text_of(record) + " exceeds the quota of its submitter");
}

void Oracle::enter_board(const JobRecord& record, const Result& result, const store::Store& disk) {
  const auto body = store::read_body(disk, record.seq);
  if (!body || !*body) return violated(text_of(record.seq) + " passed but has no submission on disk");
  auto row = board_row(**body, result, record.seq, record.finished_at_ms);
  if (!row) return;
  row->submitter = first_submitter_of(record);
  const auto [place, is_new] =
      kernels_.try_emplace(store::kernel_key(row->problem_hash, row->kernel_hash, row->device_model), *row);
  if (!is_new) add_runs(place->second, *row);
}

void Oracle::check_kernel_write(const std::string& key, const LeaderboardRow& row) {
  const auto place = kernels_.find(key);
  if (place == kernels_.end()) return violated("the row of a kernel was written for which there is no result");
  // Other results of the same commit may follow.
  for (const KernelRun& run : row.runs) {
    if (std::ranges::find(place->second.runs, run) == place->second.runs.end())
      violated("the row of a kernel has a run for which there is no result");
  }
}

}  // namespace kq::sim
