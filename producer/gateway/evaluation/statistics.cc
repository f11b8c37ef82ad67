#include "producer/gateway/evaluation/statistics.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace kq::gateway::evaluation {
namespace {

using producer::Json;
using producer::JsonObject;

using Labels = std::map<std::string, std::string>;

// Returns the sum of a metric over all samples that have these labels.
double sum_of(const StatsReply& statistics, std::string_view name, const Labels& labels = {}) {
  double sum = 0;
  for (const Metric& metric : statistics.metrics) {
    const bool has_all = std::ranges::all_of(labels, [&](const auto& label) {
      const auto found = metric.labels.find(label.first);
      return found != metric.labels.end() && found->second == label.second;
    });
    if (metric.name == name && has_all) sum += metric.value;
  }
  return sum;
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

Json whole(double number) {
  return Json{static_cast<std::int64_t>(number)};
}

Json object(std::initializer_list<std::pair<std::string_view, double>> numbers) {
  JsonObject members;
  for (const auto& [name, value] : numbers) {
    const bool is_measure =
        name.ends_with("seconds") || name.ends_with("minutes") || name.ends_with("minute") || name.ends_with("rate");
    members.emplace_back(name, is_measure ? Json{value} : whole(value));
  }
  return Json{std::move(members)};
}

// The counts that several parts of the answers need.
struct Counts {
  double submitted, finished, passed, wrong, not_compiled, not_served;
};
Counts counts_of(const StatsReply& statistics) {
  const auto ended = [&](const char* verdict) {
    return sum_of(statistics, "kq_jobs_finished_total", {{"verdict", verdict}});
  };
  Counts counts{};
  counts.submitted = sum_of(statistics, "kq_jobs_submitted_total");
  counts.finished = sum_of(statistics, "kq_jobs_finished_total");
  counts.passed = ended("passed") + ended("suspect");
  counts.wrong = ended("wrong_answer");
  counts.not_compiled = ended("build_failed") + ended("load_failed");
  for (const char* verdict :
       {"compiled_only", "timed_out", "too_large", "unsupported_here", "cancelled", "expired", "abandoned"})
    counts.not_served += ended(verdict);
  return counts;
}

Json job_stats(const BrokerReply& broker, const StatsReply& statistics) {
  const Counts counts = counts_of(statistics);
  const auto open = static_cast<std::int64_t>(broker.queued + broker.leased);
  JsonObject by_status;
  if (open > 0) by_status.emplace_back("submitted", Json{open});
  if (counts.finished > counts.not_served)
    by_status.emplace_back("completed", whole(counts.finished - counts.not_served));
  if (counts.not_served > 0) by_status.emplace_back("failed", whole(counts.not_served));
  JsonObject members;
  members.emplace_back("total_jobs", Json{open + static_cast<std::int64_t>(counts.finished)});
  members.emplace_back("by_status", Json{std::move(by_status)});
  members.emplace_back("average_age", Json{sum_of(statistics, "kq_queue_oldest_age_seconds") / 2});
  return Json{std::move(members)};
}

struct Gpus {
  std::int64_t count = 0;
  std::int64_t available = 0;  // of workers that run nothing and take work
};
Gpus gpus_of(const BrokerReply& broker) {
  Gpus gpus;
  for (const WorkerStatus& worker : broker.workers) {
    const auto count = std::ranges::count(worker.devices, DeviceKind::cuda, &DeviceInfo::kind);
    gpus.count += count;
    if (!worker.draining) gpus.available += std::max<std::int64_t>(0, count - worker.running);
  }
  return gpus;
}

}  // namespace

Json health_body(const BrokerReply& broker, const StatsReply& statistics, std::int64_t now_ms) {
  const Gpus gpus = gpus_of(broker);
  JsonObject manager;
  manager.emplace_back("available_gpus", Json{gpus.available});
  JsonObject body;
  body.emplace_back("status", Json{std::string("healthy")});
  body.emplace_back("job_stats", job_stats(broker, statistics));
  body.emplace_back("gpu_manager", Json{std::move(manager)});
  body.emplace_back("gpu_available", Json{gpus.count > 0});
  body.emplace_back("gpu_count", Json{gpus.count});
  body.emplace_back("workers", Json{static_cast<std::int64_t>(broker.workers.size())});
  body.emplace_back("timestamp", Json{static_cast<double>(now_ms) / 1e3});
  return Json{std::move(body)};
}

Json stats_body(const BrokerReply& broker, const StatsReply& statistics, std::int64_t now_ms, std::int64_t started_ms) {
  const Counts counts = counts_of(statistics);
  const auto stage = [&](const char* name, const char* what) {
    return sum_of(statistics, std::string("kq_job_stage_duration_seconds_") + what, {{"stage", name}});
  };
  const double builds = stage("build", "count"), build_s = stage("build", "sum");
  const double runs = stage("run", "count"), run_s = stage("run", "sum");
  const double hits = sum_of(statistics, "kq_build_cache_requests_total", {{"result", "hit"}});
  const double misses = sum_of(statistics, "kq_build_cache_requests_total", {{"result", "miss"}});
  const double waits = sum_of(statistics, "kq_job_wait_seconds_count"),
               wait_s = sum_of(statistics, "kq_job_wait_seconds_sum");
  const double uptime_s = static_cast<double>(now_ms - started_ms) / 1e3;
  const double per_minute = ratio(counts.finished, uptime_s / 60);
  const double end_to_end_s = ratio(wait_s, waits) + ratio(build_s, builds) + ratio(run_s, runs);

  JsonObject body;
  body.emplace_back("job_stats", job_stats(broker, statistics));
  body.emplace_back("compilation_metrics",
                    object({{"total_compilations", builds},
                            {"successful_compilations", std::max(0.0, builds - counts.not_compiled)},
                            {"failed_compilations", counts.not_compiled},
                            {"total_time_seconds", build_s},
                            {"average_time_seconds", ratio(build_s, builds)},
                            {"min_time_seconds", 0},
                            {"max_time_seconds", 0},
                            {"success_rate", 1 - ratio(counts.not_compiled, std::max(builds, counts.not_compiled))},
                            {"cache_hit_rate", ratio(hits, hits + misses)},
                            {"cache_hits", hits},
                            {"cache_misses", misses}}));
  body.emplace_back("profiling_metrics",
                    object({{"total_profilings", runs},
                            {"successful_profilings", counts.passed},
                            {"failed_profilings", std::max(0.0, runs - counts.passed)},
                            {"total_time_seconds", run_s},
                            {"average_time_seconds", ratio(run_s, runs)},
                            {"min_time_seconds", 0},
                            {"max_time_seconds", 0},
                            {"success_rate", ratio(counts.passed, runs)},
                            {"correctness_passed", counts.passed},
                            {"correctness_failed", counts.wrong},
                            {"correctness_rate", ratio(counts.passed, counts.passed + counts.wrong)}}));
  body.emplace_back("gpu_utilization",
                    object({{"gpu_acquisitions", waits},
                            {"gpu_releases", runs},
                            {"active_sessions", static_cast<double>(broker.leased)},
                            {"total_gpu_time_seconds", sum_of(statistics, "kq_device_run_seconds_total")},
                            {"total_wait_time_seconds", wait_s},
                            {"average_wait_time_seconds", ratio(wait_s, waits)}}));
  body.emplace_back("throughput", object({{"server_uptime_seconds", uptime_s},
                                          {"server_uptime_minutes", uptime_s / 60},
                                          {"total_requests", counts.submitted},
                                          {"completed_requests", counts.finished - counts.not_served},
                                          {"failed_requests", counts.not_served},
                                          {"success_rate", ratio(counts.finished - counts.not_served, counts.finished)},
                                          {"requests_per_minute", per_minute},
                                          {"recent_throughput_per_minute", per_minute},
                                          {"average_end_to_end_time_seconds", end_to_end_s},
                                          {"min_end_to_end_time_seconds", 0},
                                          {"max_end_to_end_time_seconds", 0}}));
  body.emplace_back("timestamp", Json{static_cast<double>(now_ms) / 1e3});
  return Json{std::move(body)};
}

}  // namespace kq::gateway::evaluation
