// Counts the results of workers by builds, runs and devices, as Prometheus samples.
//
// Workers choose the names of devices and the reasons of rejections. Each name makes a series that is kept for ever, so
// there are at most kNamesMax of each kind. Later names, and texts that are not valid names, are counted as "other".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/metrics/histogram.h"
#include "core/operations.h"
#include "core/result.h"

namespace kq::broker {

class ResultMetrics {
 public:
  static constexpr std::size_t kNamesMax = 64;

  // Counts an accepted result of a worker.
  void add_result(const Result& result);

  void append_to(std::vector<Metric>& metrics) const;

 private:
  using Seconds = Histogram<9>;
  using Ratios = Histogram<7>;
  static constexpr std::array<double, 9> kSecondBounds{0.01, 0.1, 0.3, 1, 3, 10, 30, 100, 300};
  static constexpr std::array<double, 7> kRatioBounds{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1};

  struct Device {
    std::map<VerdictName, std::uint64_t> finished_count{};
    double run_s = 0;
    Ratios noise{kRatioBounds};  // standard deviation divided by median, of the samples of one kernel
  };

  template <class Value>
  using ByName = std::map<std::string, Value, std::less<>>;
  template <class Value>
  static Value& named(ByName<Value>& values, std::string_view name);

  Seconds build_s_{kSecondBounds};
  Seconds run_s_{kSecondBounds};
  std::uint64_t cache_hit_count_ = 0;
  std::uint64_t cache_miss_count_ = 0;
  ByName<Device> devices_;                // by model
  ByName<std::uint64_t> rejected_count_;  // by reason
};

}  // namespace kq::broker
