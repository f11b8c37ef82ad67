#include "broker/metrics/prometheus.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "broker/core/state.h"
#include "broker/metrics/metrics.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

TEST(PrometheusTest, a_family_has_its_help_and_type_once_before_its_samples) {
  const std::vector<Metric> metrics{{"kq_queue_jobs", {{"state", "queued"}}, 3},
                                    {"kq_lease_expirations_total", {}, 1e15},
                                    {"kq_queue_jobs", {{"state", "leased"}}, 0.5}};
  EXPECT_EQ(prometheus_text(metrics),
            "# HELP kq_lease_expirations_total Leases whose worker fell silent.\n"
            "# TYPE kq_lease_expirations_total counter\n"
            "kq_lease_expirations_total 1e+15\n"
            "# HELP kq_queue_jobs Unfinished jobs: queued, waiting for their time, or leased.\n"
            "# TYPE kq_queue_jobs gauge\n"
            "kq_queue_jobs{state=\"queued\"} 3\n"
            "kq_queue_jobs{state=\"leased\"} 0.5\n");
}

TEST(PrometheusTest, a_histogram_is_one_family) {
  const std::vector<Metric> metrics{{"kq_job_wait_seconds_bucket", {{"le", "0.1"}}, 1},
                                    {"kq_job_wait_seconds_bucket", {{"le", "+Inf"}}, 2},
                                    {"kq_job_wait_seconds_sum", {}, 7.25},
                                    {"kq_job_wait_seconds_count", {}, 2}};
  const std::string text = prometheus_text(metrics);
  EXPECT_EQ(text.find("# TYPE kq_job_wait_seconds histogram\nkq_job_wait_seconds_bucket{le=\"0.1\"} 1\n"),
            text.find('\n') + 1);
  EXPECT_TRUE(text.ends_with("kq_job_wait_seconds_sum 7.25\nkq_job_wait_seconds_count 2\n")) << text;
}

TEST(PrometheusTest, the_value_of_a_label_is_escaped) {
  const std::vector<Metric> metrics{
      {"kq_build_info", {{"sandbox", "x"}, {"version", "a\"b\\c\nd"}}, std::numeric_limits<double>::infinity()}};
  EXPECT_TRUE(prometheus_text(metrics).ends_with("\nkq_build_info{sandbox=\"x\",version=\"a\\\"b\\\\c\\nd\"} +Inf\n"));
}

TEST(PrometheusTest, names_are_unique_and_follow_the_rules) {
  std::set<std::string_view> names;
  for (const MetricFamily& family : metric_families()) {
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
    EXPECT_TRUE(family.name.starts_with("kq_"));
    EXPECT_EQ(family.name.ends_with("_total"), family.type == MetricType::counter) << family.name;
    EXPECT_TRUE(family.help.ends_with('.')) << family.name;
  }
}

TEST(PrometheusTest, every_metric_of_the_broker_has_its_family_and_every_family_a_metric) {
  store::MemoryStore store;
  State state{.options = {}, .store = &store};
  state.metrics.finished(Backend::torch, VerdictName::passed);
  state.switches.paused = {"ann"};
  Result rejected;
  rejected.verdict = ended(VerdictName::rejected, {});
  state.metrics.add_result(rejected);
  PublishedMetrics board;
  board.publish(metrics_of(state, 5'000), 5'000);
  const std::string text = board.text(5'000);
  for (const Metric& metric : metrics_of(state, 5'000))
    EXPECT_NE(text.find("\n" + metric.name), std::string::npos) << metric.name;
  for (const MetricFamily& family : metric_families()) {
    // broker/standby/primary.cc adds these.
    if (family.name.starts_with("kq_standby_") || family.name == "kq_broker_epoch") continue;
    EXPECT_NE(text.find("# TYPE " + std::string(family.name) + " "), std::string::npos) << family.name;
  }
}

TEST(PrometheusTest, a_scrape_shows_the_last_metrics_and_their_age) {
  PublishedMetrics board;
  EXPECT_EQ(board.text(1'000), "") << "nothing was published yet";
  board.publish({{"kq_queue_submitters", {}, 4}}, 5'000);
  board.publish({{"kq_queue_submitters", {}, 5}}, 10'000);
  const std::string text = board.text(12'500);
  EXPECT_NE(text.find("\nkq_queue_submitters 5\n"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\nkq_metrics_age_seconds 2.5\n")) << text;
}

// promtool checks the format, if it is installed (Debian package prometheus).
TEST(PrometheusTest, promtool_accepts_the_text) {
  if (std::system("command -v promtool >/dev/null") != 0) GTEST_SKIP() << "skipped: promtool is not installed";
  std::vector<Metric> metrics;
  for (const MetricFamily& family : metric_families()) {
    const std::string name(family.name);
    if (family.type == MetricType::histogram) {
      metrics.push_back({name + "_bucket", {{"le", "+Inf"}}, 2});
      metrics.push_back({name + "_sum", {}, 7.25});
      metrics.push_back({name + "_count", {}, 2});
    } else {
      metrics.push_back({name, {{"label", "\\ \" \n é"}}, 1.5});
    }
  }
  // A histogram of the broker must be one for each set of labels.
  Metrics counted;
  Result passed;
  passed.verdict = Passed{};
  counted.add_result(passed);
  counted.append_to(metrics);
  const auto file = std::filesystem::temp_directory_path() / ("kq-metrics-" + std::to_string(::getpid()));
  std::ofstream(file) << prometheus_text(metrics);
  EXPECT_EQ(std::system(("promtool check metrics < " + file.string()).c_str()), 0);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace kq::broker
