// The metrics of a gateway, in the text format of Prometheus. The broker has its own.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "net/http/listener.h"

namespace kq::gateway {

inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

class GatewayMetrics {
 public:
  // `route` is the pattern of a route, or empty for a request that has none.
  void count(const std::string& method, const std::string& route, int status, double seconds);

  std::string text(const net::HttpCounts& connections, std::size_t waits) const;

  static constexpr std::array<double, 8> kBounds = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 10};  // in seconds

 private:
  struct Durations {
    std::array<std::uint64_t, kBounds.size() + 1> counts{};
    double sum = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, int>, std::uint64_t> requests_;
  std::map<std::string, Durations> durations_;  // by route
};

}  // namespace kq::gateway
