#include "producer/gateway/evaluation/statistics.h"

#include <gtest/gtest.h>

using namespace kq;
using namespace kq::gateway::evaluation;
using producer::Json;

namespace {

DeviceInfo device(DeviceKind kind) {
  DeviceInfo info;
  info.kind = kind;
  return info;
}

BrokerReply broker() {
  BrokerReply reply;
  reply.queued = 2;
  reply.leased = 1;
  WorkerStatus gpus;
  gpus.devices = {device(DeviceKind::cuda), device(DeviceKind::cuda)};
  gpus.running = 1;
  WorkerStatus cpu;
  cpu.devices = {device(DeviceKind::cpu)};
  reply.workers = {gpus, cpu};
  return reply;
}
StatsReply metrics() {
  return {{{"kq_jobs_submitted_total", {{"backend", "torch"}}, 10},
           {"kq_jobs_finished_total", {{"verdict", "passed"}}, 5},
           {"kq_jobs_finished_total", {{"verdict", "wrong_answer"}}, 1},
           {"kq_jobs_finished_total", {{"verdict", "timed_out"}}, 1},
           {"kq_job_stage_duration_seconds_count", {{"stage", "run"}}, 6},
           {"kq_job_stage_duration_seconds_sum", {{"stage", "run"}}, 12},
           {"kq_build_cache_requests_total", {{"result", "hit"}}, 3},
           {"kq_build_cache_requests_total", {{"result", "miss"}}, 1}}};
}
const Json& at(const Json& body, std::string_view group, std::string_view name) {
  return *body.find(group)->find(name);
}

}  // namespace

TEST(Statistics, health_counts_the_gpus) {  // the original's manual promises that
  const Json body = health_body(broker(), metrics(), 1'000);
  EXPECT_EQ(*body.find("status")->text(), "healthy");
  EXPECT_TRUE(*body.find("gpu_available")->boolean());
  EXPECT_EQ(*body.find("gpu_count")->integer(), 2);
  EXPECT_EQ(*at(body, "gpu_manager", "available_gpus").integer(), 1);
  EXPECT_EQ(*at(body, "job_stats", "total_jobs").integer(), 10);
  EXPECT_EQ(producer::to_text(at(body, "job_stats", "by_status")), R"({"submitted": 3, "completed": 6, "failed": 1})");
}

TEST(Statistics, counters_are_the_brokers) {  // those of the original stay zero
  const Json body = stats_body(broker(), metrics(), 121'000, 1'000);
  EXPECT_EQ(*at(body, "profiling_metrics", "total_profilings").integer(), 6);
  EXPECT_EQ(*at(body, "profiling_metrics", "average_time_seconds").floating(), 2);
  EXPECT_EQ(*at(body, "profiling_metrics", "correctness_failed").integer(), 1);
  EXPECT_EQ(*at(body, "compilation_metrics", "cache_hit_rate").floating(), 0.75);
  EXPECT_EQ(*at(body, "throughput", "server_uptime_minutes").floating(), 2);
  EXPECT_EQ(*at(body, "throughput", "requests_per_minute").floating(), 3.5);
}

TEST(Statistics, an_idle_broker_divides_by_nothing) {
  EXPECT_EQ(producer::to_text(stats_body({}, {}, 1'000, 1'000)).find("nan"), std::string::npos);
}
