// A Prometheus histogram: for each bound, how many values were at most that bound; and the sum of all values.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/operations.h"

namespace kq::broker {

template <std::size_t N>
class Histogram {
 public:
  // The bounds ascend. Values above the last bound are counted under +Inf.
  explicit Histogram(const std::array<double, N>& bounds) : bounds_(bounds) {}

  void add(double value) {
    value = std::max(value, 0.0);
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    ++counts_[static_cast<std::size_t>(bucket)];
    sum_ += value;
  }

  void append_to(std::vector<Metric>& metrics, const std::string& name,
                 const std::map<std::string, std::string>& labels = {}) const {
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i <= N; ++i) {
      so_far += counts_[i];
      auto with_bound = labels;
      with_bound["le"] = i < N ? bound_text(bounds_[i]) : "+Inf";
      metrics.push_back({name + "_bucket", std::move(with_bound), static_cast<double>(so_far)});
    }
    metrics.push_back({name + "_sum", labels, sum_});
    metrics.push_back({name + "_count", labels, static_cast<double>(so_far)});
  }

 private:
  // Returns a bound as Prometheus writes it: "0.01", "600".
  static std::string bound_text(double bound) {
    char digits[32];
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, bound, std::chars_format::fixed).ptr);
  }

  std::array<double, N> bounds_;
  std::array<std::uint64_t, N + 1> counts_{};
  double sum_ = 0;
};

}  // namespace kq::broker
