#include "broker/metrics/prometheus.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace kq::broker {
namespace {

constexpr MetricFamily kFamilies[] = {
    {"kq_build_info", MetricType::gauge, "1, with the version of the broker as a label."},
    {"kq_jobs_submitted_total", MetricType::counter, "New jobs taken in, by backend."},
    {"kq_jobs_reused_total", MetricType::counter, "Submissions answered with a job that was there."},
    {"kq_jobs_refused_total", MetricType::counter,
     "Submissions refused: invalid ones, and those for which queue, quota or disk had no room."},
    {"kq_jobs_finished_total", MetricType::counter, "Jobs that ended, by backend, verdict and whose fault it was."},
    {"kq_jobs_retried_total", MetricType::counter, "Attempts that failed by a fault of kq."},
    {"kq_jobs_dead_total", MetricType::counter, "Jobs that ended as abandoned."},
    {"kq_lease_expirations_total", MetricType::counter, "Leases whose worker fell silent."},
    {"kq_jobs_removed_total", MetricType::counter, "Finished jobs removed because they were kept for long enough."},
    {"kq_files_removed_total", MetricType::counter, "Files removed because no job that is left names them."},
    {"kq_job_wait_seconds", MetricType::histogram, "Time from submission to the first lease."},
    {"kq_job_stage_duration_seconds", MetricType::histogram,
     "How long workers built a job, if it was not in their cache, and ran it."},
    {"kq_build_cache_requests_total", MetricType::counter,
     "Builds that workers found in their cache, and those they made."},
    {"kq_builds_total", MetricType::counter,
     "Builds that workers without a device made for others: taken, declined, or lapsed with their builder."},
    {"kq_jobs_rejected_total", MetricType::counter, "Jobs that workers rejected, by reason."},
    {"kq_device_results_total", MetricType::counter, "Results of workers, by device model and verdict."},
    {"kq_device_run_seconds_total", MetricType::counter, "How long jobs ran on devices of each model."},
    {"kq_timing_noise_ratio", MetricType::histogram,
     "Standard deviation by median of a kernel's timings, by device model."},
    {"kq_queue_jobs", MetricType::gauge, "Unfinished jobs: queued, waiting for their time, or leased."},
    {"kq_queue_bytes", MetricType::gauge, "Records and files of unfinished jobs, as charged to their submitters."},
    {"kq_queue_oldest_age_seconds", MetricType::gauge, "Age of the oldest job that could run now."},
    {"kq_queue_submitters", MetricType::gauge, "Submitters with unfinished jobs."},
    {"kq_queue_paused", MetricType::gauge, "1 while the whole queue is paused."},
    {"kq_submitters_paused", MetricType::gauge, "Submitters that are paused by their names."},
    {"kq_submitter_paused", MetricType::gauge, "1 for each paused submitter, by name, of at most 64."},
    {"kq_build_objects", MetricType::gauge,
     "Artifacts that were built for unfinished jobs and are kept for the workers that run them."},
    {"kq_build_object_bytes", MetricType::gauge, "Bytes of the artifacts in kq_build_objects."},
    {"kq_workers", MetricType::gauge, "Connected workers: busy, idle, draining or quarantined."},
    {"kq_devices_quarantined", MetricType::gauge,
     "Devices that did not come back clean after a job, of connected workers."},
    {"kq_worker_heartbeat_age_seconds", MetricType::gauge,
     "Time since the last message of the worker that has been silent for longest."},
    {"kq_disk_free_bytes", MetricType::gauge, "Free space where the store is."},
    {"kq_disk_nearly_full", MetricType::gauge, "1 while new jobs are refused to keep room for results, else 0."},
    {"kq_broker_epoch", MetricType::gauge, "How often a broker with a standby has begun to serve this queue."},
    {"kq_standby_connected", MetricType::gauge, "1 while a standby follows, else 0."},
    {"kq_standby_in_sync", MetricType::gauge, "1 while the standby had every acknowledged commit on disk, else 0."},
    {"kq_standby_lag_changes", MetricType::gauge, "Changes of the store that the standby lacks."},
    {"kq_metrics_age_seconds", MetricType::gauge, "How long ago the broker's loop published these figures."},
};

bool belongs(const Metric& metric, const MetricFamily& family) {
  if (!metric.name.starts_with(family.name)) return false;
  const std::string_view rest = std::string_view(metric.name).substr(family.name.size());
  if (family.type != MetricType::histogram) return rest.empty();
  return rest == "_bucket" || rest == "_sum" || rest == "_count";
}

// Appends the value of a label, with backslash, quote and newline escaped.
void append_value(std::string& text, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char digits[64];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  return std::string(digits, end);
}

void append_sample(std::string& text, const Metric& metric) {
  text += metric.name;
  char before = '{';
  for (const auto& [name, value] : metric.labels) {
    text += before + name + "=\"";
    append_value(text, value);
    text += '"';
    before = ',';
  }
  if (!metric.labels.empty()) text += '}';
  text += " " + number(metric.value) + "\n";
}

}  // namespace

std::span<const MetricFamily> metric_families() {
  return kFamilies;
}

std::string prometheus_text(std::span<const Metric> metrics) {
  std::string text;
  for (const MetricFamily& family : kFamilies) {
    bool is_first = true;
    for (const Metric& metric : metrics) {
      if (!belongs(metric, family)) continue;
      if (std::exchange(is_first, false)) {
        text += "# HELP " + std::string(family.name) + " " + std::string(family.help) + "\n# TYPE " +
                std::string(family.name) + " " + std::string(to_string(family.type)) + "\n";
      }
      append_sample(text, metric);
    }
  }
  return text;
}

void PublishedMetrics::publish(std::vector<Metric> metrics, std::int64_t now_ms) {
  auto snapshot = std::make_shared<const Snapshot>(Snapshot{std::move(metrics), now_ms});
  const std::lock_guard lock(mutex_);
  snapshot_.swap(snapshot);
}

std::string PublishedMetrics::text(std::int64_t now_ms) const {
  std::shared_ptr<const Snapshot> snapshot;
  {
    const std::lock_guard lock(mutex_);
    snapshot = snapshot_;
  }
  std::vector<Metric> metrics = snapshot->metrics;
  if (snapshot->at_ms != 0) {
    metrics.push_back({"kq_metrics_age_seconds", {}, static_cast<double>(now_ms - snapshot->at_ms) / 1000});
  }
  return prometheus_text(metrics);
}

}  // namespace kq::broker
