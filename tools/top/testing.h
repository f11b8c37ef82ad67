// A TopSource and facts for the tests of kq-top.
#pragma once

#include <string>

#include "producer/overview/testing.h"
#include "tools/top/client_source.h"
#include "tools/top/facts.h"

namespace kq::tools {

// The broker of producer/overview/testing.h with metrics.
class FakeTopSource final : public TopSource {
 public:
  producer::FakeSource broker_source;
  StatsReply stats;
  std::int64_t now_ms = producer::FakeSource::kNowMs;

  Expected<BrokerReply> broker() override { return broker_source.broker(); }
  Expected<QueueReply> lanes(const QueueQuery& query) override { return broker_source.lanes(query); }
  Expected<producer::VisibleJobs> jobs(const JobsQuery& query) override { return broker_source.jobs(query); }
  Expected<RunsReply> runs(const RunsQuery& query) override { return broker_source.runs(query); }
  Expected<RunReply> run_page(const RunQuery& query) override { return broker_source.run_page(query); }
  Expected<std::vector<JobStatus>> states(std::span<const Sequence> jobs) override {
    return broker_source.states(jobs);
  }
  Expected<RunRow> row(Sequence seq, const std::string& run, const std::string& label) override {
    return broker_source.row(seq, run, label);
  }
  Expected<StatsReply> statistics() override { return stats; }
  std::int64_t unix_now_ms() const override { return now_ms; }
};

inline Metric finished_metric(const std::string& verdict, double value) {
  return {.name = "kq_jobs_finished_total", .labels = {{"verdict", verdict}}, .value = value};
}

inline TopWorker top_worker(const std::string& name, const std::string& state = "idle") {
  TopWorker worker{.state = state};
  worker.status.worker = name;
  worker.status.devices = {{.kind = DeviceKind::cuda,
                            .model = "NVIDIA H200",
                            .uuid = "GPU-" + name,
                            .arch = "sm_90",
                            .memory_bytes = 140ull << 30}};
  worker.conditions = {std::nullopt};
  return worker;
}

// A job of the run `monday` that was leased 42 s ago.
inline JobRow leased_job(const std::string& label, std::int64_t now_ms) {
  JobRow row;
  row.job.seq = 7;
  row.job.state = JobState::leased;
  row.job.run = "monday";
  row.job.leased_at_ms = now_ms - 42'000;
  row.label = label;
  return row;
}

// A broker with two workers, a run and a failure.
inline TopFacts top_facts() {
  TopFacts facts;
  facts.now_ms = 1'795'284'000'000;  // 2026-11-21T18:00:00Z
  facts.version = "0.2.0";
  facts.queued = 3;
  facts.running = 1;
  facts.building = 2;
  facts.finished_per_s = 8.25;
  facts.finished = {{"passed", 500}, {"wrong_answer", 20}};
  facts.workers = {top_worker("gpu-1"), top_worker("gpu-2", "busy")};
  for (TopWorker& worker : facts.workers) worker.status.last_seen_ms = facts.now_ms;
  facts.workers[1].status.running = 1;
  facts.workers[1].jobs = {leased_job("relu/fast", facts.now_ms)};
  facts.workers[1].conditions[0] = Conditions{.sm_clock_mhz = 1'980, .temperature_c = 41, .power_w = 650};
  producer::ShownRun run{.run = "monday", .submitter = "ada", .is_counted = true, .rate_per_s = 2.0};
  run.counts = {.jobs = 8, .queued = 3, .running = 1, .finished = 4};
  run.counts.verdicts = {{VerdictName::passed, 3}, {VerdictName::wrong_answer, 1}};
  facts.runs = {run};
  facts.run_count = 1;
  facts.failures = {{.seq = 5,
                     .run = "monday",
                     .label = "gelu/bad",
                     .verdict = VerdictName::wrong_answer,
                     .reason = "values",
                     .message = "the output differs",
                     .finished_at_ms = facts.now_ms - 90'000}};
  return facts;
}

}  // namespace kq::tools
