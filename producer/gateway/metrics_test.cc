#include "producer/gateway/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::gateway {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(GatewayMetrics, requests_are_counted_by_route_and_status) {
  GatewayMetrics metrics;
  metrics.count("GET", "/jobs/{id}", 200, 0.002);
  metrics.count("GET", "/jobs/{id}", 200, 20);
  metrics.count("GET", "/jobs/{id}", 404, 0.0005);
  const std::string text = metrics.text({.open = 3, .accepted = 9, .evicted = 1, .turned_away = 2}, 4);
  for (const char* line : {"kq_gateway_connections 3", "kq_gateway_connections_total{end=\"accepted\"} 9",
                           "kq_gateway_connections_total{end=\"turned_away\"} 2", "kq_gateway_waits 4",
                           "kq_gateway_requests_total{method=\"GET\",route=\"/jobs/{id}\",status=\"200\"} 2",
                           "kq_gateway_request_seconds_bucket{route=\"/jobs/{id}\",le=\"0.001\"} 1",
                           "kq_gateway_request_seconds_bucket{route=\"/jobs/{id}\",le=\"0.003\"} 2",
                           "kq_gateway_request_seconds_bucket{route=\"/jobs/{id}\",le=\"+Inf\"} 3",
                           "kq_gateway_request_seconds_count{route=\"/jobs/{id}\"} 3"})
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n")) << line;
}

// Otherwise any client could make as many time series as it likes.
TEST(GatewayMetrics, words_of_clients_are_no_labels) {
  GatewayMetrics metrics;
  metrics.count("BREW", "", 404, 1);
  const std::string text = metrics.text({}, 0);
  EXPECT_THAT(text, Not(HasSubstr("BREW")));
  EXPECT_THAT(text, HasSubstr("kq_gateway_requests_total{method=\"\",route=\"\",status=\"404\"} 1\n"));
}

}  // namespace
}  // namespace kq::gateway
