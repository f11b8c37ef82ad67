#include "broker/metrics/result_metrics.h"

#include "core/submission.h"

namespace kq::broker {

template <class Value>
Value& ResultMetrics::named(ByName<Value>& values, std::string_view name) {
  if (name.empty()) name = "unknown";
  if (name_error(name)) name = "other";  // the name is too long or has unprintable characters
  const auto place = values.find(name);
  if (place != values.end()) return place->second;
  return values[values.size() < kNamesMax ? std::string(name) : "other"];
}

void ResultMetrics::add_result(const Result& result) {
  const VerdictName verdict = name_of(result.verdict);
  const double run_s = static_cast<double>(result.times.run_ms) / 1e3;
  // A submission that the guard rejected was neither looked up in the cache nor built.
  if (result.times.build_cached) {
    ++cache_hit_count_;
  } else if (result.times.build_ms > 0) {
    ++cache_miss_count_;
    build_s_.add(static_cast<double>(result.times.build_ms) / 1e3);
  }
  if (result.times.run_ms > 0) run_s_.add(run_s);
  Device& device = named(devices_, result.device.model);
  ++device.finished_count[verdict];
  device.run_s += run_s > 0 ? run_s : 0;
  const Measurement* measurement = measurement_of(result.verdict);
  if (measurement != nullptr && measurement->submission.sample_count > 1 && measurement->submission.median_ns > 0) {
    device.noise.add(measurement->submission.std_ns / measurement->submission.median_ns);
  }
  const Evidence* evidence = evidence_of(result.verdict);
  if (verdict == VerdictName::rejected && evidence != nullptr) ++named(rejected_count_, evidence->reason);
}

void ResultMetrics::append_to(std::vector<Metric>& metrics) const {
  build_s_.append_to(metrics, "kq_job_stage_duration_seconds", {{"stage", "build"}});
  run_s_.append_to(metrics, "kq_job_stage_duration_seconds", {{"stage", "run"}});
  metrics.push_back({"kq_build_cache_requests_total", {{"result", "hit"}}, static_cast<double>(cache_hit_count_)});
  metrics.push_back({"kq_build_cache_requests_total", {{"result", "miss"}}, static_cast<double>(cache_miss_count_)});
  for (const auto& [reason, n] : rejected_count_)
    metrics.push_back({"kq_jobs_rejected_total", {{"reason", reason}}, static_cast<double>(n)});
  for (const auto& [model, device] : devices_) {
    for (const auto& [verdict, n] : device.finished_count) {
      metrics.push_back({"kq_device_results_total",
                         {{"device", model}, {"verdict", std::string(to_string(verdict))}},
                         static_cast<double>(n)});
    }
    metrics.push_back({"kq_device_run_seconds_total", {{"device", model}}, device.run_s});
    device.noise.append_to(metrics, "kq_timing_noise_ratio", {{"device", model}});
  }
}

}  // namespace kq::broker
