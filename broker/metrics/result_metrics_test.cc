#include "broker/metrics/result_metrics.h"

#include <gtest/gtest.h>

#include "core/limits.h"
#include "core/testing/examples.h"

namespace kq::broker {
namespace {

Verdict rejected(const std::string& reason) {
  Evidence evidence;
  evidence.reason = reason;
  return ended(VerdictName::rejected, evidence);
}

class ResultMetricsTest : public testing::Test {
 protected:
  double value(const std::string& name, const std::map<std::string, std::string>& labels) {
    std::vector<Metric> all;
    metrics.append_to(all);
    for (const Metric& metric : all) {
      if (metric.name == name && metric.labels == labels) return metric.value;
    }
    return -1;
  }
  void hear(Verdict verdict, StageTimes times, const std::string& model = "NVIDIA H200") {
    Result result;
    result.verdict = std::move(verdict);
    result.times = times;
    result.device.model = model;
    metrics.heard(result);
  }

  ResultMetrics metrics;
};

TEST_F(ResultMetricsTest, a_build_is_timed_and_a_hit_is_not) {
  hear(ended(VerdictName::build_failed, {}), {.build_ms = 2'000});
  hear(ended(VerdictName::wrong_answer, {}), {.build_ms = 1, .build_cached = true, .run_ms = 500});
  hear(rejected("stream"), {});  // by the guard
  EXPECT_EQ(value("kq_build_cache_requests_total", {{"result", "hit"}}), 1);
  EXPECT_EQ(value("kq_build_cache_requests_total", {{"result", "miss"}}), 1);
  EXPECT_EQ(value("kq_job_stage_duration_seconds_bucket", {{"stage", "build"}, {"le", "1"}}), 0);
  EXPECT_EQ(value("kq_job_stage_duration_seconds_bucket", {{"stage", "build"}, {"le", "3"}}), 1);
  EXPECT_EQ(value("kq_job_stage_duration_seconds_sum", {{"stage", "build"}}), 2);
  EXPECT_EQ(value("kq_job_stage_duration_seconds_count", {{"stage", "run"}}), 1);
  EXPECT_EQ(value("kq_jobs_rejected_total", {{"reason", "stream"}}), 1);
}

TEST_F(ResultMetricsTest, devices_are_told_apart_by_their_model) {
  Measurement noisy;
  noisy.submission = {.sample_count = 10, .median_ns = 1'000, .std_ns = 20};
  hear(Passed{noisy, {}}, {.run_ms = 1'500});
  hear(ended(VerdictName::timed_out, {}), {.run_ms = 500});
  hear(ended(VerdictName::timed_out, {}), {.run_ms = 100}, "");
  EXPECT_EQ(value("kq_device_results_total", {{"device", "NVIDIA H200"}, {"verdict", "passed"}}), 1);
  EXPECT_EQ(value("kq_device_results_total", {{"device", "NVIDIA H200"}, {"verdict", "timed_out"}}), 1);
  EXPECT_EQ(value("kq_device_results_total", {{"device", "unknown"}, {"verdict", "timed_out"}}), 1);
  EXPECT_EQ(value("kq_device_run_seconds_total", {{"device", "NVIDIA H200"}}), 2);
  EXPECT_EQ(value("kq_timing_noise_ratio_bucket", {{"device", "NVIDIA H200"}, {"le", "0.01"}}), 0);
  EXPECT_EQ(value("kq_timing_noise_ratio_bucket", {{"device", "NVIDIA H200"}, {"le", "0.03"}}), 1);
  EXPECT_EQ(value("kq_timing_noise_ratio_count", {{"device", "NVIDIA H200"}}), 1);
}

TEST_F(ResultMetricsTest, a_worker_cannot_make_series_without_end) {
  for (int i = 0; i < 1'000; ++i) hear(rejected(std::to_string(i)), {}, "model " + std::to_string(i));
  EXPECT_EQ(value("kq_device_results_total", {{"device", "other"}, {"verdict", "rejected"}}), 936);
  EXPECT_EQ(value("kq_jobs_rejected_total", {{"reason", "other"}}), 936);
}

TEST_F(ResultMetricsTest, what_is_no_name_is_no_label) {
  for (const std::string& name : {std::string(kNameBytesMax + 1, 'x'), std::string("a\nb"), std::string("a\xff")})
    hear(rejected(name), {}, name);
  EXPECT_EQ(value("kq_device_results_total", {{"device", "other"}, {"verdict", "rejected"}}), 3);
  EXPECT_EQ(value("kq_jobs_rejected_total", {{"reason", "other"}}), 3);
}

}  // namespace
}  // namespace kq::broker
