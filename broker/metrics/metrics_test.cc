#include "broker/metrics/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "broker/core/state.h"
#include "broker/testing/queue_access.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

class MetricsTest : public testing::Test {
 protected:
  double value(const std::string& name, const std::map<std::string, std::string>& labels = {}) {
    for (const Metric& metric : metrics_of(state, 5'000)) {
      if (metric.name == name && metric.labels == labels) return metric.value;
    }
    return -1;
  }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
};

TEST_F(MetricsTest, counts_endings_by_backend_verdict_and_fault) {
  state.metrics.finished(Backend::triton, VerdictName::abandoned);
  state.metrics.finished(Backend::triton, VerdictName::abandoned);
  state.metrics.finished(Backend::cuda, VerdictName::passed);
  EXPECT_EQ(value("kq_jobs_finished_total", {{"backend", "triton"}, {"verdict", "abandoned"}, {"fault", "ours"}}), 2);
  EXPECT_EQ(value("kq_jobs_finished_total", {{"backend", "cuda"}, {"verdict", "passed"}, {"fault", "none"}}), 1);
  EXPECT_EQ(value("kq_jobs_dead_total"), 2);
}

TEST_F(MetricsTest, a_wait_falls_into_every_bucket_above_it) {
  state.metrics.first_leased(10);
  state.metrics.first_leased(50);
  state.metrics.first_leased(100'000'000);
  EXPECT_EQ(value("kq_job_wait_seconds_bucket", {{"le", "0.01"}}), 1);
  EXPECT_EQ(value("kq_job_wait_seconds_bucket", {{"le", "0.1"}}), 2);
  EXPECT_EQ(value("kq_job_wait_seconds_bucket", {{"le", "86400"}}), 2);
  EXPECT_EQ(value("kq_job_wait_seconds_bucket", {{"le", "+Inf"}}), 3);
  EXPECT_EQ(value("kq_job_wait_seconds_count"), 3);
  EXPECT_DOUBLE_EQ(value("kq_job_wait_seconds_sum"), 100'000.06);
}

TEST_F(MetricsTest, shows_the_age_of_the_oldest_queued_job) {
  EXPECT_EQ(value("kq_queue_oldest_age_seconds"), 0);
  Scheduler& scheduler = QueueTestAccess::tables(state).scheduler;
  scheduler.classes.add({});
  scheduler.add({.priority = Priority::low}, {.seq = 1, .submitted_at_ms = 2'000});
  EXPECT_EQ(value("kq_queue_oldest_age_seconds"), 3);
  EXPECT_EQ(value("kq_queue_jobs", {{"state", "queued"}}), 1);
}

TEST_F(MetricsTest, names_paused_submitters_up_to_a_limit) {
  state.switches.paused = {"", "ann"};
  EXPECT_EQ(value("kq_queue_paused"), 1);
  EXPECT_EQ(value("kq_submitters_paused"), 1);
  EXPECT_EQ(value("kq_submitter_paused", {{"submitter", "ann"}}), 1);
  EXPECT_EQ(value("kq_submitter_paused", {{"submitter", ""}}), -1);
  for (std::size_t i = 0; i < 2 * kPausedNamesMax; ++i) state.switches.paused.insert("bot" + std::to_string(i));
  const auto metrics = metrics_of(state, 5'000);
  EXPECT_EQ(std::ranges::count(metrics, "kq_submitter_paused", &Metric::name),
            static_cast<std::ptrdiff_t>(kPausedNamesMax));
  EXPECT_EQ(value("kq_submitters_paused"), 1 + 2 * kPausedNamesMax);
}

}  // namespace
}  // namespace kq::broker
