#include "producer/gateway/metrics.h"

#include <algorithm>
#include <sstream>

namespace kq::gateway {
namespace {

void head(std::ostringstream& text, const char* name, const char* type, const char* help) {
  text << "# HELP " << name << ' ' << help << "\n# TYPE " << name << ' ' << type << '\n';
}

}  // namespace

void GatewayMetrics::count(const std::string& method, const std::string& route, int status, double seconds) {
  // A method is the client's word, so only known ones become labels.
  const bool is_known = !route.empty();
  const std::lock_guard lock(mutex_);
  ++requests_[{is_known ? method : "", route, status}];
  if (!is_known) return;
  Durations& durations = durations_[route];
  const auto place = std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin();
  ++durations.counts[static_cast<std::size_t>(place)];
  durations.sum += seconds;
}

std::string GatewayMetrics::text(const net::HttpCounts& connections, std::size_t waits) const {
  std::ostringstream text;
  head(text, "kq_gateway_connections", "gauge", "Open connections.");
  text << "kq_gateway_connections " << connections.open << '\n';
  head(text, "kq_gateway_connections_total", "counter", "Connections by what became of them.");
  text << "kq_gateway_connections_total{end=\"accepted\"} " << connections.accepted << '\n'
       << "kq_gateway_connections_total{end=\"evicted\"} " << connections.evicted << '\n'
       << "kq_gateway_connections_total{end=\"turned_away\"} " << connections.turned_away << '\n';
  head(text, "kq_gateway_waits", "gauge", "Requests that wait for results.");
  text << "kq_gateway_waits " << waits << '\n';
  const std::lock_guard lock(mutex_);
  head(text, "kq_gateway_requests_total", "counter",
       "Answered requests by route and status; 0: the client has cut it.");
  for (const auto& [key, count] : requests_) {
    const auto& [method, route, status] = key;
    text << "kq_gateway_requests_total{method=\"" << method << "\",route=\"" << route << "\",status=\"" << status
         << "\"} " << count << '\n';
  }
  head(text, "kq_gateway_request_seconds", "histogram",
       "Time from the first byte of a request to the last of its answer.");
  for (const auto& [route, durations] : durations_) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < durations.counts.size(); ++i) {
      count += durations.counts[i];
      text << "kq_gateway_request_seconds_bucket{route=\"" << route << "\",le=\"";
      if (i < kBounds.size()) {
        text << kBounds[i];
      } else {
        text << "+Inf";
      }
      text << "\"} " << count << '\n';
    }
    text << "kq_gateway_request_seconds_sum{route=\"" << route << "\"} " << durations.sum << '\n'
         << "kq_gateway_request_seconds_count{route=\"" << route << "\"} " << count << '\n';
  }
  return text.str();
}

}  // namespace kq::gateway
