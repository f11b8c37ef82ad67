#include "producer/overview/run_watch.h"

#include <algorithm>

#include "core/base/enum_names.h"
#include "core/limits.h"
#include "producer/overview/source.h"

namespace kq::producer {

bool is_failure(VerdictName verdict) {
  return verdict != VerdictName::passed && verdict != VerdictName::compiled_only && verdict != VerdictName::cancelled;
}

Expected<std::vector<RunRow>> RunWatch::read_page(OverviewSource& source) {
  const RunQuery query{.run = run_, .after_label = next_.value_or(""), .limit = kQueryRowsMax};
  if (!next_) fresh_.clear();
  KQ_TRY_VALUE(RunReply page, source.run_page(query));
  for (const RunRow& row : page.rows) {
    if (fresh_.size() == kWatchedJobsMax) break;
    fresh_.push_back({.seq = row.entry.seq,
                      .state = row.job.state,
                      .verdict = row.result ? name_of(row.result->verdict) : VerdictName::passed,
                      .label = row.entry.submission.label});
  }
  has_more_jobs_ = fresh_.size() == kWatchedJobsMax && page.more;
  if (page.more && !page.rows.empty() && !has_more_jobs_) {
    next_ = page.rows.back().entry.submission.label;
    if (!is_whole_) count();
  } else {
    finish_reading();
  }
  return std::move(page.rows);
}

void RunWatch::finish_reading() {
  next_.reset();
  jobs_ = std::move(fresh_);
  fresh_.clear();
  is_whole_ = true;
  count();
  open_.clear();
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].state != JobState::finished) open_.push_back(i);
  }
  std::ranges::sort(open_, {}, [&](std::size_t i) { return jobs_[i].seq; });
}

void RunWatch::count() {
  counts_ = {};
  for (const WatchedJob& job : jobs()) {
    ++counts_.jobs;
    ++(job.state == JobState::queued   ? counts_.queued
       : job.state == JobState::leased ? counts_.running
                                       : counts_.finished);
    if (job.state == JobState::finished) ++counts_.verdicts[job.verdict];
  }
}

Expected<std::size_t> RunWatch::update(OverviewSource& source) {
  if (!is_whole_ || open_.empty()) return std::size_t{0};
  std::vector<Sequence> seqs;
  for (const std::size_t i : open_) {
    if (seqs.size() == kQuerySeqsMax) break;
    if (seqs.empty() || seqs.back() != jobs_[i].seq) seqs.push_back(jobs_[i].seq);
  }
  KQ_TRY_VALUE(const std::vector<JobStatus> states, source.states(seqs));
  std::size_t changed = 0;
  // Both are sorted by sequence. A job that retention removed meanwhile has no state and keeps its last one.
  auto state = states.begin();
  for (const std::size_t i : open_) {
    WatchedJob& job = jobs_[i];
    if (job.seq > seqs.back()) break;
    while (state != states.end() && state->seq < job.seq) ++state;
    if (state == states.end()) break;
    if (state->seq != job.seq || state->state == job.state) continue;
    ++changed;
    job.state = state->state;
    if (job.state != JobState::finished) continue;
    job.verdict = parse_enum<VerdictName>(state->verdict).value_or(VerdictName::abandoned);
    if (newly_finished_.size() < kNewlyFinishedMax) newly_finished_.push_back(job);
  }
  if (changed == 0) return changed;
  std::erase_if(open_, [&](std::size_t i) { return jobs_[i].state == JobState::finished; });
  count();
  return changed;
}

void RunWatch::mark(std::int64_t now_ms) {
  if (!is_whole_) return;
  while (!points_.empty() && (now_ms - points_.front().first > kRateWindowMs || points_.size() >= kRateTimesMax))
    points_.pop_front();
  if (points_.empty() || now_ms - points_.back().first >= kRatePointMs) points_.emplace_back(now_ms, counts_.finished);
}

std::optional<double> RunWatch::rate_per_s() const {
  if (points_.size() < 2 || open_count() == 0) return std::nullopt;
  const auto& [first_ms, first] = points_.front();
  const auto& [last_ms, last] = points_.back();
  if (last <= first || last_ms <= first_ms) return std::nullopt;
  return 1'000.0 * static_cast<double>(last - first) / static_cast<double>(last_ms - first_ms);
}

}  // namespace kq::producer
