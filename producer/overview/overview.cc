#include "producer/overview/overview.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "core/base/own_share.h"
#include "core/limits.h"
#include "producer/overview/source.h"
#include "sys/clock.h"

namespace kq::producer {
namespace {

bool is_of(const WatchedJob& job, const std::string& outcome) {
  if (outcome.empty()) return true;
  if (job.state != JobState::finished) return outcome == to_string(job.state);
  return outcome == "finished" || (outcome == "failed" && is_failure(job.verdict)) || outcome == to_string(job.verdict);
}

}  // namespace

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return low;
}

std::size_t ShownRun::passed_count() const {
  const auto passed = counts.verdicts.find(VerdictName::passed);
  return passed == counts.verdicts.end() ? 0 : passed->second;
}

std::size_t ShownRun::failed_count() const {
  std::size_t failed = 0;
  for (const auto& [verdict, count] : counts.verdicts) failed += is_failure(verdict) ? count : 0;
  return failed;
}

std::optional<double> ShownRun::left_s() const {
  if (!rate_per_s) return std::nullopt;
  return static_cast<double>(counts.queued + counts.running) / *rate_per_s;
}

Expected<void> Overview::refresh(OverviewSource& source) {
  KQ_TRY_VALUE(broker_, source.broker());
  KQ_TRY_VALUE(lanes_, source.lanes({.limit = kShownLanesMax}));
  KQ_TRY(running_.refresh(source, broker_.leased));
  KQ_TRY(refresh_run_list(source, sys::monotonic_now_ms()));
  return refresh_runs(source);
}

Expected<void> Overview::refresh_running(OverviewSource& source) {
  KQ_TRY_VALUE(broker_, source.broker());
  return running_.refresh(source, broker_.leased);
}

const Conditions* Overview::conditions_of(const DeviceInfo& device) const {
  const auto known = conditions_.find(device.uuid);
  return known == conditions_.end() ? nullptr : &known->second.second;
}

std::vector<ShownRun> Overview::runs() const {
  std::vector<ShownRun> shown;
  for (const auto& [name, one] : runs_) {
    if (!one.is_shown) continue;
    shown.push_back({.run = name,
                     .submitter = one.submitter,
                     .submitted_at_ms = one.submitted_at_ms,
                     .is_counted = one.watch.is_whole(),
                     .is_part = one.watch.has_more_jobs(),
                     .counts = one.watch.counts(),
                     .rate_per_s = one.watch.rate_per_s()});
  }
  std::ranges::sort(shown, {}, [](const ShownRun& one) {
    return std::pair(one.counts.queued + one.counts.running == 0, -one.submitted_at_ms);
  });
  return shown;
}

bool Overview::is_counted() const {
  return std::ranges::all_of(runs_,
                             [](const auto& one) { return !one.second.is_shown || one.second.watch.is_whole(); });
}

std::vector<FailedJob> Overview::failures() const {
  std::vector<FailedJob> failures;
  for (const auto& [names, job] : failures_) failures.push_back(job);
  std::ranges::sort(failures, std::greater<>(), &FailedJob::finished_at_ms);
  return failures;
}

Overview::Watched& Overview::watched(const KnownRun& run) {
  const auto [place, is_new] = runs_.try_emplace(run.run, Watched{.watch = RunWatch(run.run)});
  if (is_new || run.submitted_at_ms != 0) {
    place->second.submitter = submitter_behind(run.submitter, run.run);
    place->second.submitted_at_ms = run.submitted_at_ms;
  }
  return place->second;
}

bool Overview::Watched::is_due(std::int64_t now_ms, std::int64_t pause_ms) const {
  return !watch.is_whole() || watch.is_reading() ||
         now_ms - read_at_ms >= std::max(pause_ms, kReadingShare * last_reading_ms);
}

// Reads the names of all runs, and keeps watches of the newest and of those that run now.
Expected<void> Overview::refresh_run_list(OverviewSource& source, std::int64_t now_ms) {
  if (listed_ms_ != 0 && now_ms - listed_ms_ < kRunListAgeMs) return {};
  std::vector<KnownRun> known;
  RunsQuery query{.after = "", .limit = kQueryRowsMax};
  has_more_runs_ = false;
  for (std::size_t page = 0;; ++page) {
    KQ_TRY_VALUE(RunsReply reply, source.runs(query));
    if (!reply.runs.empty()) query.after = reply.runs.back().run;
    std::ranges::move(reply.runs, std::back_inserter(known));
    if (!reply.more) break;
    has_more_runs_ = page + 1 == kRunPagesMax;
    if (has_more_runs_) break;
  }
  listed_ms_ = now_ms;
  run_count_ = known.size();
  std::set<std::string> active;
  for (const auto& [worker, row] : running_.by_worker()) active.insert(row.job.run);
  std::ranges::sort(known, [&](const KnownRun& a, const KnownRun& b) {
    const auto rank = [&](const KnownRun& run) { return std::pair(!active.contains(run.run), -run.submitted_at_ms); };
    return rank(a) < rank(b);
  });
  known.resize(std::min(known.size(), kShownRunsMax));
  for (auto& [name, one] : runs_) one.is_shown = false;
  for (const KnownRun& run : known) watched(run).is_shown = true;
  forget_runs(now_ms);
  return {};
}

// Drops the watches of runs that are neither listed nor asked about.
void Overview::forget_runs(std::int64_t now_ms) {
  std::vector<std::pair<std::int64_t, std::string>> asked;
  for (const auto& [name, one] : runs_) {
    if (!one.is_shown) asked.emplace_back(one.asked_at_ms, name);
  }
  std::ranges::sort(asked, std::greater<>());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (i >= kAskedRunsMax || now_ms - asked[i].first > kAskedRunMs) runs_.erase(asked[i].second);
  }
  std::erase_if(failures_, [&](const auto& one) { return !runs_.contains(one.first.first); });
}

Expected<void> Overview::refresh_runs(OverviewSource& source) {
  const std::int64_t end_ms = sys::monotonic_now_ms() + kReadingMs;
  std::set<std::string> active;
  for (const auto& [worker, row] : running_.by_worker()) active.insert(row.job.run);
  std::size_t rows_left = kRowsFetchedMax;
  for (auto& [name, one] : runs_) {
    KQ_TRY(one.watch.update(source));
    fetch_finished(source, one, rows_left);
    one.watch.mark(sys::monotonic_now_ms());
  }
  for (auto& [name, one] : runs_) {
    const std::int64_t now_ms = sys::monotonic_now_ms();
    // A run whose jobs are finished is read again rarely, unless a job of it is running.
    const bool is_open = one.watch.open_count() > 0 || active.contains(name);
    const bool is_due = one.is_due(now_ms, kReadingPauseMs * (is_open ? 1 : 6));
    if (is_due && now_ms < end_ms) KQ_TRY(read_rows(source, one, end_ms));
  }
  return {};
}

Expected<void> Overview::read_rows(OverviewSource& source, Watched& one, std::int64_t end_ms) {
  do {
    const std::int64_t began_ms = sys::monotonic_now_ms();
    KQ_TRY_VALUE(const std::vector<RunRow> rows, one.watch.read_page(source));
    for (const RunRow& row : rows) learn(one.watch.run(), row);
    one.reading_ms += sys::monotonic_now_ms() - began_ms;
  } while (one.watch.is_reading() && sys::monotonic_now_ms() < end_ms);
  if (one.watch.is_reading()) return {};
  one.last_reading_ms = std::exchange(one.reading_ms, 0);
  one.read_at_ms = sys::monotonic_now_ms();
  return {};
}

// Reads the rows of newly finished jobs, failures first: they have the reasons, and the clocks of devices.
void Overview::fetch_finished(OverviewSource& source, Watched& one, std::size_t& left) {
  std::vector<WatchedJob> finished = one.watch.take_newly_finished();
  std::ranges::stable_sort(finished, {}, [](const WatchedJob& job) { return !is_failure(job.verdict); });
  for (const WatchedJob& job : finished) {
    if (left == 0) return;
    --left;
    const auto row = source.row(job.seq, one.watch.run(), job.label);
    if (row) learn(one.watch.run(), *row);
  }
}

void Overview::learn(const std::string& run, const RunRow& row) {
  const std::pair key{run, row.entry.submission.label};
  if (!row.result) {
    failures_.erase(key);
    return;
  }
  const DeviceInfo& device = row.result->device;
  if (row.result->conditions && !device.uuid.empty()) {
    if (conditions_.size() >= kKnownDevicesMax) conditions_.clear();
    auto& [at_ms, conditions] = conditions_[device.uuid];
    if (row.job.finished_at_ms >= at_ms) {
      at_ms = row.job.finished_at_ms;
      conditions = *row.result->conditions;
    }
  }
  const VerdictName verdict = name_of(row.result->verdict);
  if (!is_failure(verdict)) {
    failures_.erase(key);
    return;
  }
  const Evidence* evidence = evidence_of(row.result->verdict);
  FailedJob& failed = failures_[key];
  failed = {.seq = row.entry.seq,
            .run = run,
            .label = row.entry.submission.label,
            .verdict = verdict,
            .reason = evidence != nullptr ? evidence->reason : "",
            .message = evidence != nullptr ? evidence->message.substr(0, kShownMessageMax) : "",
            .device = device.model,
            .finished_at_ms = row.job.finished_at_ms};
  if (failures_.size() > kShownFailuresMax)
    failures_.erase(std::ranges::min_element(failures_, {}, [](const auto& one) { return one.second.finished_at_ms; }));
}

Expected<FoundJobs> Overview::find(OverviewSource& source, const std::string& run, const JobFilter& filter) {
  if (!run.empty() && !runs_.contains(run)) {
    KQ_TRY_VALUE(const RunReply first, source.run_page({.run = run, .after_label = "", .limit = 1}));
    if (first.rows.empty()) return failure(Error{ErrorKind::not_found, "there is no run '" + run + "'"});
    watched({.run = run, .submitter = "", .submitted_at_ms = 0});
  }
  if (run.empty()) KQ_TRY(refresh_run_list(source, sys::monotonic_now_ms()));
  FoundJobs found;
  const std::int64_t end_ms = sys::monotonic_now_ms() + kSearchReadingMs;
  const std::string wanted = lower(filter.text);
  for (auto& [name, one] : runs_) {
    if (!run.empty() && name != run) continue;
    if (!run.empty()) one.asked_at_ms = sys::monotonic_now_ms();
    KQ_TRY(one.watch.update(source));
    const bool is_due = one.is_due(sys::monotonic_now_ms(), 0);
    if (is_due && sys::monotonic_now_ms() < end_ms) KQ_TRY(read_rows(source, one, end_ms));
    found.is_whole = found.is_whole && one.watch.is_whole() && !one.watch.is_reading() && !one.watch.has_more_jobs();
    for (const WatchedJob& job : one.watch.jobs()) {
      if (!is_of(job, filter.outcome) || (!wanted.empty() && lower(job.label).find(wanted) == std::string::npos))
        continue;
      ++found.total_count;
      if (!filter.after.empty() && job.label <= filter.after) continue;
      if (found.jobs.size() < filter.limit) {
        found.jobs.push_back({.run = name, .job = job});
      } else if (!run.empty() && found.next.empty()) {
        found.next = found.jobs.back().job.label;
      }
    }
  }
  return found;
}

}  // namespace kq::producer
