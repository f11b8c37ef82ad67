#include "broker/metrics/metrics.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "broker/core/state.h"
#include "core/base/version.h"

namespace kq::broker {
namespace {

using Labels = std::map<std::string, std::string>;

void add(std::vector<Metric>& metrics, std::string name, Labels labels, double value) {
  metrics.push_back({std::move(name), std::move(labels), value});
}

double seconds(std::int64_t ms) {
  return static_cast<double>(ms) / 1e3;
}

// Appends whether the queue is paused, and which submitters are. "" among the names stands for the queue.
void append_pauses(std::vector<Metric>& metrics, const std::set<std::string>& paused) {
  const bool is_queue_paused = paused.contains("");
  add(metrics, "kq_queue_paused", {}, is_queue_paused ? 1 : 0);
  add(metrics, "kq_submitters_paused", {}, static_cast<double>(paused.size() - (is_queue_paused ? 1 : 0)));
  std::size_t named_count = 0;
  for (const std::string& submitter : paused) {
    if (submitter.empty()) continue;
    if (named_count++ == kPausedNamesMax) break;
    add(metrics, "kq_submitter_paused", {{"submitter", submitter}}, 1);
  }
}

}  // namespace

void Metrics::append_to(std::vector<Metric>& metrics) const {
  const auto count = [](std::uint64_t n) { return static_cast<double>(n); };
  for (std::size_t backend = 0; backend < kBackends; ++backend) {
    const std::string name(kEnumNames<Backend>[backend]);
    add(metrics, "kq_jobs_submitted_total", {{"backend", name}}, count(submitted_count_[backend]));
  }
  for (std::size_t backend = 0; backend < kBackends; ++backend) {
    for (std::size_t verdict = 0; verdict < kVerdictNames; ++verdict) {
      if (finished_count_[backend][verdict] == 0) continue;
      const VerdictRow& row = kVerdicts[verdict];
      add(metrics, "kq_jobs_finished_total",
          {{"backend", std::string(kEnumNames<Backend>[backend])},
           {"verdict", std::string(to_string(row.name))},
           {"fault", std::string(to_string(row.fault))}},
          count(finished_count_[backend][verdict]));
    }
  }
  std::uint64_t dead_count = 0;
  for (const auto& by_verdict : finished_count_)
    dead_count += by_verdict[static_cast<std::size_t>(VerdictName::abandoned)];
  add(metrics, "kq_jobs_dead_total", {}, count(dead_count));
  add(metrics, "kq_jobs_reused_total", {}, count(reused_count_));
  add(metrics, "kq_jobs_refused_total", {{"reason", "invalid"}}, count(refused_count_));
  add(metrics, "kq_jobs_refused_total", {{"reason", "busy"}}, count(busy_count_));
  add(metrics, "kq_jobs_retried_total", {}, count(failed_count_));
  add(metrics, "kq_lease_expirations_total", {}, count(lapsed_count_));
  for (std::size_t ending = 0; ending < build_count_.size(); ++ending) {
    add(metrics, "kq_builds_total", {{"ending", std::string(kEnumNames<BuildEnding>[ending])}},
        count(build_count_[ending]));
  }
  add(metrics, "kq_jobs_removed_total", {}, count(removed_job_count_));
  add(metrics, "kq_files_removed_total", {}, count(removed_file_count_));
  wait_s_.append_to(metrics, "kq_job_wait_seconds");
  results_.append_to(metrics);
}

std::vector<Metric> metrics_of(const State& state, std::int64_t now_ms) {
  std::vector<Metric> metrics;
  add(metrics, "kq_build_info", {{"version", std::string(kVersion)}}, 1);
  state.metrics.append_to(metrics);
  const auto jobs = [&](const char* in, std::uint64_t n) {
    add(metrics, "kq_queue_jobs", {{"state", in}}, static_cast<double>(n));
  };
  jobs("queued", state.queue.scheduler().size());
  jobs("waiting", state.queue.timers().waiting_count());
  jobs("leased", state.queue.jobs().leased_count());
  add(metrics, "kq_queue_bytes", {}, static_cast<double>(state.queue.accounts().all().bytes));
  std::int64_t oldest_ms = now_ms;
  for (const auto& [id, entry] : state.queue.scheduler().lanes()) {
    if (entry.lane.head() != nullptr) oldest_ms = std::min(oldest_ms, entry.lane.head()->submitted_at_ms);
  }
  add(metrics, "kq_queue_oldest_age_seconds", {}, seconds(now_ms - oldest_ms));
  add(metrics, "kq_build_objects", {}, static_cast<double>(state.builds.artifacts.size()));
  add(metrics, "kq_build_object_bytes", {}, static_cast<double>(state.builds.artifact_bytes));
  add(metrics, "kq_queue_submitters", {}, static_cast<double>(state.queue.accounts().by_submitter().size()));
  append_pauses(metrics, state.switches.paused);
  std::int64_t silent_ms = 0;
  std::map<std::string, double> workers{{"busy", 0}, {"idle", 0}, {"draining", 0}, {"quarantined", 0}};
  double quarantined = 0;
  for (const auto& [id, session] : state.workers.all()) {
    silent_ms = std::max(silent_ms, now_ms - session.last_seen_ms);
    const bool draining = state.switches.draining.contains(session.worker);
    quarantined += static_cast<double>(session.quarantined.size());
    const bool is_out = session.devices.empty() && !session.quarantined.empty();
    workers[is_out                                             ? "quarantined"
            : draining                                         ? "draining"
            : session.leases.empty() && session.builds.empty() ? "idle"
                                                               : "busy"] += 1;
  }
  for (const auto& [in, n] : workers) add(metrics, "kq_workers", {{"state", in}}, n);
  add(metrics, "kq_devices_quarantined", {}, quarantined);
  add(metrics, "kq_worker_heartbeat_age_seconds", {}, seconds(silent_ms));
  add(metrics, "kq_disk_free_bytes", {}, static_cast<double>(state.space.free_bytes));
  add(metrics, "kq_disk_nearly_full", {}, state.space.nearly_full ? 1 : 0);
  return metrics;
}

}  // namespace kq::broker
