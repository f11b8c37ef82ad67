#include "producer/gateway/routes.h"

#include <utility>

#include "producer/gateway/documents.h"
#include "producer/gateway/metrics.h"
#include "producer/gateway/rest/rest.h"
#include "producer/gateway/service.h"

namespace kq::gateway {
namespace {

Response get_health(const Request& request, Service& service) {
  const auto broker = service.broker();
  if (!broker) return problem_of(broker.error(), request);
  return json_response(200, producer::Json{producer::JsonObject{{"status", producer::Json{std::string("healthy")}}}});
}

void add(Routes& routes, Routes more) {
  for (Route& route : more) routes.push_back(std::move(route));
}

}  // namespace

Routes all_routes(const EvaluationSettings&, std::function<std::string()> metrics_text) {
  Routes routes = rest_routes();
  add(routes, document_routes());
  routes.push_back({.method = "GET", .path = "/health", .access = Access::anyone, .handler = get_health});
  routes.push_back({.method = "GET",
                    .path = "/metrics",
                    .access = Access::anyone,
                    .handler = [text = std::move(metrics_text)](const Request&, Service&) {
                      return Response{.status = 200, .type = std::string(kMetricsType), .body = text()};
                    }});
  return routes;
}

}  // namespace kq::gateway
