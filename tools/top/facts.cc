#include "tools/top/facts.h"

#include <algorithm>

#include "producer/overview/worker_state.h"
#include "tools/top/client_source.h"

namespace kq::tools {
namespace {

std::vector<TopWorker> workers_of(const producer::Overview& overview, std::int64_t now_ms) {
  std::vector<TopWorker> workers;
  for (const WorkerStatus& status : overview.broker().workers) {
    TopWorker worker{.status = status, .state = std::string(producer::state_of(status, now_ms))};
    const auto [begin, end] = overview.running().equal_range(status.worker);
    for (auto row = begin; row != end; ++row) worker.jobs.push_back(row->second);
    std::ranges::stable_sort(worker.jobs, {}, [](const JobRow& row) { return row.job.leased_at_ms; });
    for (const DeviceInfo& device : status.devices) {
      const Conditions* known = overview.conditions_of(device);
      worker.conditions.push_back(known != nullptr ? std::optional(*known) : std::nullopt);
    }
    workers.push_back(std::move(worker));
  }
  return workers;
}

}  // namespace

Expected<TopFacts> Gatherer::look(TopSource& source) {
  KQ_TRY_VALUE(const StatsReply stats, source.statistics());
  KQ_TRY(overview_.refresh(source));
  const BrokerReply& broker = overview_.broker();
  TopFacts facts;
  facts.now_ms = source.unix_now_ms();
  facts.version = broker.version;
  facts.has_keys = broker.has_keys;
  facts.queued = broker.queued;
  facts.running = broker.leased;
  facts.waiting = overview_.lanes().waiting;
  for (const WorkerStatus& worker : broker.workers) facts.building += worker.building;
  facts.lanes = overview_.lanes().lanes;
  facts.has_more_lanes = overview_.lanes().more;
  facts.workers = workers_of(overview_, facts.now_ms);
  facts.runs = overview_.runs();
  facts.run_count = overview_.run_count();
  facts.has_more_runs = overview_.has_more_runs();
  facts.failures = overview_.failures();
  count_finished(stats, facts);
  return facts;
}

void Gatherer::count_finished(const StatsReply& stats, TopFacts& facts) {
  std::uint64_t count = 0;
  for (const Metric& metric : stats.metrics) {
    const auto verdict = metric.labels.find("verdict");
    if (metric.name != "kq_jobs_finished_total" || verdict == metric.labels.end() || !(metric.value > 0)) continue;
    facts.finished[verdict->second] += static_cast<std::uint64_t>(metric.value);
    count += static_cast<std::uint64_t>(metric.value);
  }
  // A broker that was started again counts from 0.
  if (!counts_.empty() && (count < counts_.back().second || facts.now_ms < counts_.back().first)) counts_.clear();
  while (counts_.size() > 1 && (facts.now_ms - counts_[1].first >= kRateSpanMs || counts_.size() >= kRateLooksMax))
    counts_.pop_front();
  if (!counts_.empty() && facts.now_ms - counts_.front().first >= kRateLeastMs) {
    facts.finished_per_s = 1'000.0 * static_cast<double>(count - counts_.front().second) /
                           static_cast<double>(facts.now_ms - counts_.front().first);
  }
  counts_.emplace_back(facts.now_ms, count);
}

}  // namespace kq::tools
