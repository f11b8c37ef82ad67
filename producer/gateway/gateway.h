// The frame of kq-gateway: it finds the route of each request, checks who may use it, counts and logs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "core/identity.h"
#include "net/http/listener.h"
#include "producer/gateway/http.h"
#include "producer/gateway/metrics.h"
#include "producer/gateway/router.h"
#include "producer/gateway/service.h"
#include "producer/gateway/tokens.h"

namespace kq::gateway {

struct GatewayLimits {
  std::size_t waits_max = 768;            // requests that may wait for results at the same time
  std::size_t submitter_waits_max = 600;  // of one submitter, where the gateway has tokens
};

struct GatewayOptions {
  GatewayLimits limits{};
  // Whether only this machine reaches the gateway. Then a request must name this machine as its host, so that a web
  // page cannot reach the gateway by a name that it controls.
  bool is_loopback = true;
  std::string instance = "0";  // begins the ids of requests
  // The tokens that operate the queue; null: no token does. The list must outlive the gateway.
  const Tokens* operators = nullptr;
  Role key_role = Role::admin;  // of the gateway's key; with another one the broker refuses what operators may do
};

class Gateway {
 public:
  // `tokens` is null for a gateway without tokens. The references must outlive the gateway.
  Gateway(Routes routes, Service& service, const Tokens* tokens, GatewayOptions options);

  // Returns the functions that a listener calls. `log` gets a line for each request.
  net::HttpApp app(std::function<void(const net::HttpLogEntry&)> log);

  GatewayMetrics& metrics() { return metrics_; }
  std::size_t wait_count() const { return waits_; }

 private:
  struct Finding;

  net::HttpAdmission admit(net::HttpRequest& request);
  Response answer(net::HttpRequest& request);
  Response reject(const net::HttpFault& fault, const net::HttpRequest& request);
  Finding find(const net::HttpRequest& request) const;
  std::optional<std::string> browser_error(const net::HttpRequest& request) const;
  // Sets the submitter of a request, or the status and sentence of its refusal.
  void identify(const net::HttpRequest& request, Finding& found) const;
  Response run(const Route& route, const Request& request);
  bool begin_wait(const std::string& submitter);
  void end_wait(const std::string& submitter);
  std::string next_id();

  const Router router_;
  Service& service_;
  const Tokens* const tokens_;
  const GatewayOptions options_;
  GatewayMetrics metrics_;
  std::atomic<std::uint64_t> last_id_ = 0;
  std::atomic<std::size_t> waits_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::size_t> waits_of_;  // by submitter
};

}  // namespace kq::gateway
