#include "producer/gateway/live/overview.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "core/limits.h"
#include "producer/gateway/live/overview_json.h"
#include "producer/gateway/rest/values.h"
#include "producer/gateway/service.h"
#include "sys/clock.h"

namespace kq::gateway {
namespace {

using producer::Json;
using producer::JsonArray;

constexpr std::size_t kMessageBytesMax = 300;  // the list of failures shows the beginning; the job's view has all

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return low;
}

bool is_of(const WatchedJob& job, const std::string& outcome) {
  if (outcome.empty()) return true;
  if (job.state != JobState::finished) return outcome == to_string(job.state);
  return outcome == "finished" || (outcome == "failed" && is_failure(job.verdict)) || outcome == to_string(job.verdict);
}

}  // namespace

std::shared_ptr<View> Overviews::of(const Submitter& viewer, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  auto [place, is_new] = views_.try_emplace(viewer.name, now_ms, nullptr);
  if (is_new) place->second.second = std::make_shared<View>(viewer);
  place->second.first = now_ms;
  std::shared_ptr<View> view = place->second.second;
  if (views_.size() > kViewsMax) {
    views_.erase(std::ranges::min_element(views_, {}, [](const auto& one) { return one.second.first; }));
  }
  return view;
}

Expected<std::string> View::text(Service& service) {
  const std::lock_guard lock(mutex_);
  if (text_.empty() || sys::monotonic_now_ms() - refreshed_ms_ >= kOverviewAgeMs) KQ_TRY(refresh(service));
  return text_;
}

Expected<void> View::refresh(Service& service) {
  KQ_TRY_VALUE(const BrokerReply broker, service.broker());
  KQ_TRY_VALUE(const QueueReply queue, service.lanes({.limit = kShownLanesMax}));
  KQ_TRY(running_.refresh(service, viewer_, broker.leased));
  KQ_TRY(refresh_run_list(service, sys::monotonic_now_ms()));
  KQ_TRY(refresh_runs(service));
  const std::int64_t now_ms = service.now_ms();
  JsonArray runs;
  std::vector<const Watched*> shown;
  for (const auto& [name, one] : runs_) {
    if (one.is_shown) shown.push_back(&one);
  }
  // Runs that go on come first, then the newest.
  std::ranges::sort(shown, [](const Watched* a, const Watched* b) {
    const auto rank = [](const Watched* one) { return std::pair(one->watch.open_count() == 0, -one->submitted_at_ms); };
    return rank(a) < rank(b);
  });
  for (const Watched* one : shown) runs.push_back(run_json(*one));
  Object body;
  body.add("version", broker.version).add("has_keys", broker.has_keys);
  body.add("queue", queue_json(broker, queue, viewer_)).add("workers", workers_json(broker, now_ms));
  body.add("runs", Json{std::move(runs)}).add("run_count", run_count_).add("has_more_runs", has_more_runs_);
  body.add("failures", failures_json());
  const std::string object = producer::to_text(body.json());
  text_ = object.substr(1, object.size() - 2);
  refreshed_ms_ = sys::monotonic_now_ms();
  return {};
}

View::Watched& View::watched(const KnownRun& run) {
  const auto [place, is_new] = runs_.try_emplace(run.run, Watched{.watch = RunWatch(run.run)});
  if (is_new || run.submitted_at_ms != 0) {
    place->second.submitter = run.submitter;
    place->second.submitted_at_ms = run.submitted_at_ms;
  }
  return place->second;
}

// Reads the names of all runs, and keeps watches of the newest and of those that run now.
Expected<void> View::refresh_run_list(Service& service, std::int64_t now_ms) {
  if (listed_ms_ != 0 && now_ms - listed_ms_ < kRunListAgeMs) return {};
  std::vector<KnownRun> known;
  RunsQuery query{.after = "", .limit = kQueryRowsMax};
  has_more_runs_ = false;
  for (std::size_t page = 0;; ++page) {
    KQ_TRY_VALUE(RunsReply reply, service.runs(viewer_, query));
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
void View::forget_runs(std::int64_t now_ms) {
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

Expected<void> View::refresh_runs(Service& service) {
  const std::int64_t end_ms = sys::monotonic_now_ms() + kReadingMs;
  std::set<std::string> active;
  for (const auto& [worker, row] : running_.by_worker()) active.insert(row.job.run);
  std::size_t rows_left = kRowsFetchedMax;
  for (auto& [name, one] : runs_) {
    KQ_TRY(one.watch.update(service));
    fetch_finished(service, one, rows_left);
    one.watch.mark(sys::monotonic_now_ms());
  }
  for (auto& [name, one] : runs_) {
    const std::int64_t now_ms = sys::monotonic_now_ms();
    // A run whose jobs are finished is read again rarely, unless a job of it is running.
    const bool is_open = one.watch.open_count() > 0 || active.contains(name);
    const std::int64_t pause_ms = std::max(kReadingPauseMs * (is_open ? 1 : 6), kReadingShare * one.last_reading_ms);
    const bool is_due = !one.watch.is_whole() || one.watch.is_reading() || now_ms - one.read_at_ms >= pause_ms;
    if (is_due && now_ms < end_ms) KQ_TRY(read_rows(service, one, end_ms));
  }
  return {};
}

Expected<void> View::read_rows(Service& service, Watched& one, std::int64_t end_ms) {
  do {
    const std::int64_t began_ms = sys::monotonic_now_ms();
    KQ_TRY_VALUE(const std::vector<RunRow> rows, one.watch.read_page(service, viewer_));
    for (const RunRow& row : rows) learn(one.watch.run(), row);
    one.reading_ms += sys::monotonic_now_ms() - began_ms;
  } while (one.watch.is_reading() && sys::monotonic_now_ms() < end_ms);
  if (one.watch.is_reading()) return {};
  one.last_reading_ms = std::exchange(one.reading_ms, 0);
  one.read_at_ms = sys::monotonic_now_ms();
  return {};
}

// Reads the rows of newly finished jobs, failures first: they have the reasons, and the clocks of devices.
void View::fetch_finished(Service& service, Watched& one, std::size_t& left) {
  std::vector<WatchedJob> finished = one.watch.take_newly_finished();
  std::ranges::stable_sort(finished, {}, [](const WatchedJob& job) { return !is_failure(job.verdict); });
  for (const WatchedJob& job : finished) {
    if (left == 0) return;
    --left;
    const auto row = service.find(viewer_, {.seq = job.seq, .run = one.watch.run(), .label = job.label});
    if (row) learn(one.watch.run(), *row);
  }
}

void View::learn(const std::string& run, const RunRow& row) {
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
            .verdict = verdict,
            .reason = evidence != nullptr ? evidence->reason : "",
            .message = evidence != nullptr ? evidence->message.substr(0, kMessageBytesMax) : "",
            .device = device.model,
            .finished_at_ms = row.job.finished_at_ms};
  if (failures_.size() > kShownFailuresMax)
    failures_.erase(std::ranges::min_element(failures_, {}, [](const auto& one) { return one.second.finished_at_ms; }));
}

Json View::run_json(const Watched& one) const {
  const WatchedCounts& counts = one.watch.counts();
  Object verdicts;
  std::size_t failed = 0;
  for (const auto& [verdict, count] : counts.verdicts) {
    verdicts.add(to_string(verdict), count);
    failed += is_failure(verdict) ? count : 0;
  }
  const auto passed = counts.verdicts.find(VerdictName::passed);
  Object object;
  object.add("run", one.watch.run()).add("submitter", one.submitter);
  object.add("submitted_at", time_json(one.submitted_at_ms)).add("is_counted", one.watch.is_whole());
  object.add("is_part", one.watch.has_more_jobs()).add("jobs", counts.jobs).add("queued", counts.queued);
  object.add("running", counts.running).add("finished", counts.finished);
  object.add("passed", passed == counts.verdicts.end() ? 0 : passed->second).add("failed", failed);
  object.add("verdicts", verdicts.json());
  const auto rate = one.watch.rate_per_s();
  object.add("rate_per_s", rate ? Json{std::round(*rate * 100) / 100} : Json{nullptr});
  object.add("left_s", rate ? Json{std::round(static_cast<double>(one.watch.open_count()) / *rate)} : Json{nullptr});
  return object.json();
}

Json View::worker_json(const WorkerStatus& worker, std::int64_t now_ms) const {
  JsonArray devices;
  for (const DeviceInfo& device : worker.devices) {
    const auto known = conditions_.find(device.uuid);
    devices.push_back(device_state_json(device, known == conditions_.end() ? nullptr : &known->second.second));
  }
  JsonArray jobs;
  const auto [begin, end] = running_.by_worker().equal_range(worker.worker);
  for (auto row = begin; row != end; ++row) jobs.push_back(running_job_json(row->second));
  Object object = worker_object(worker, now_ms);
  object.add("devices", Json{std::move(devices)}).add("jobs", Json{std::move(jobs)});
  return object.json();
}

Json View::workers_json(const BrokerReply& broker, std::int64_t now_ms) const {
  std::vector<const WorkerStatus*> order;
  for (const WorkerStatus& worker : broker.workers) order.push_back(&worker);
  // Workers that need attention come first.
  std::ranges::sort(order, [&](const WorkerStatus* a, const WorkerStatus* b) {
    const auto rank = [&](const WorkerStatus* one) {
      return std::pair(rank_of(*one, now_ms), std::string_view(one->worker));
    };
    return rank(a) < rank(b);
  });
  JsonArray shown;
  for (const WorkerStatus* worker : order) {
    if (shown.size() == kShownWorkersMax) break;
    shown.push_back(worker_json(*worker, now_ms));
  }
  Object object = worker_counts(broker, now_ms);
  object.add("shown", Json{std::move(shown)});
  return object.json();
}

Json View::failures_json() const {
  std::vector<decltype(failures_)::const_pointer> order;
  for (const auto& one : failures_) order.push_back(&one);
  std::ranges::sort(order, std::greater<>(), [](const auto* one) { return one->second.finished_at_ms; });
  JsonArray failures;
  for (const auto* one : order) {
    const auto& [run, label] = one->first;
    const FailedJob& job = one->second;
    Object object;
    object.add("id", JobId{.seq = job.seq, .run = run, .label = label}.text()).add("job", job.seq).add("run", run);
    object.add("label", label).add("verdict", to_string(job.verdict)).add("reason", job.reason);
    object.add("message", job.message).add("device", job.device).add("finished_at", time_json(job.finished_at_ms));
    failures.push_back(object.json());
  }
  return Json{std::move(failures)};
}

Expected<Json> View::workers(Service& service, const std::string& text, const std::string& after, std::size_t limit) {
  KQ_TRY_VALUE(BrokerReply broker, service.broker());
  const std::lock_guard lock(mutex_);
  const std::int64_t now_ms = service.now_ms();
  std::ranges::sort(broker.workers, {}, &WorkerStatus::worker);
  const std::string wanted = lower(text);
  JsonArray page;
  std::string last;
  bool has_more = false;
  for (const WorkerStatus& worker : broker.workers) {
    if (!after.empty() && worker.worker <= after) continue;
    const bool is_model = std::ranges::any_of(worker.devices, [&](const DeviceInfo& device) {
      return lower(device.model).find(wanted) != std::string::npos;
    });
    if (!is_model && lower(worker.worker).find(wanted) == std::string::npos) continue;
    has_more = page.size() == limit;
    if (has_more) break;
    page.push_back(worker_json(worker, now_ms));
    last = worker.worker;
  }
  Object body;
  body.add("workers", Json{std::move(page)}).add("next", has_more ? Json{last} : Json{nullptr});
  return body.json();
}

Expected<FoundJobs> View::find(Service& service, const std::string& run, const JobFilter& filter) {
  const std::lock_guard lock(mutex_);
  if (!run.empty() && !runs_.contains(run)) {
    KQ_TRY_VALUE(const RunReply first, service.run_page(viewer_, {.run = run, .after_label = "", .limit = 1}));
    if (first.rows.empty()) return failure(Error{ErrorKind::not_found, "there is no run '" + run + "'"});
    watched({.run = run, .submitter = "", .submitted_at_ms = 0});
  }
  if (run.empty()) KQ_TRY(refresh_run_list(service, sys::monotonic_now_ms()));
  FoundJobs found;
  const std::int64_t end_ms = sys::monotonic_now_ms() + kSearchReadingMs;
  const std::string wanted = lower(filter.text);
  for (auto& [name, one] : runs_) {
    if (!run.empty() && name != run) continue;
    if (!run.empty()) one.asked_at_ms = sys::monotonic_now_ms();
    if (!one.watch.is_whole() && sys::monotonic_now_ms() < end_ms) KQ_TRY(read_rows(service, one, end_ms));
    found.is_whole = found.is_whole && one.watch.is_whole() && !one.watch.has_more_jobs();
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

}  // namespace kq::gateway
