// The broker's metrics in the text format of Prometheus, with their types and explanations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/operations.h"

namespace kq::broker {

enum class MetricType { gauge, counter, histogram };
constexpr std::array<std::string_view, 3> enum_names(MetricType) {
  return {"gauge", "counter", "histogram"};
}

// A metric with all its samples. A histogram's samples are named NAME_bucket, NAME_sum and NAME_count.
struct MetricFamily {
  std::string_view name;
  MetricType type = MetricType::gauge;
  std::string_view help;
};
// Returns all families of the broker. A metric is one row in that table and a line in broker/metrics/metrics.cc. Tests
// compare docs/operator/run.md and the files in deploy/ with the table.
std::span<const MetricFamily> metric_families();

// Returns the samples in the text exposition format 0.0.4: families in the order of the table, samples in the given
// order. Samples without a family are omitted.
std::string prometheus_text(std::span<const Metric> metrics);

inline constexpr std::string_view kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";

// The metrics that the loop published last. The thread of the HTTP server reads them and never waits for the loop.
class PublishedMetrics {
 public:
  void publish(std::vector<Metric> metrics, std::int64_t now_ms);
  // Returns the metrics as text, with their age as kq_metrics_age_seconds. The age shows a loop that is stuck.
  std::string text(std::int64_t now_ms) const;

 private:
  struct Snapshot {
    std::vector<Metric> metrics;
    std::int64_t at_ms = 0;
  };
  mutable std::mutex mutex_;
  std::shared_ptr<const Snapshot> snapshot_ = std::make_shared<Snapshot>();
};

}  // namespace kq::broker
