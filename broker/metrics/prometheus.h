// The broker's figures as Prometheus reads them, and what they mean.
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

// A family of samples. A histogram's samples are named NAME_bucket, NAME_sum and NAME_count.
struct MetricFamily {
  std::string_view name;
  MetricType type = MetricType::gauge;
  std::string_view help;
};
// Every family the broker has. A metric is one row here and a line in broker/metrics/metrics.cc; docs/operations.md and
// the files in deploy/ are held to this table.
std::span<const MetricFamily> metric_families();

// Text exposition format 0.0.4: families in the table's order, samples in the given one. Samples of no family are left
// out.
std::string prometheus_text(std::span<const Metric> metrics);

inline constexpr std::string_view kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";

// The last figures the loop has published. A scrape reads them from another thread and never waits for the loop.
class MetricsBoard {
 public:
  void publish(std::vector<Metric> metrics, std::int64_t now_ms);
  // With kq_metrics_age_seconds: how old the figures are. A loop that is stuck shows here.
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
