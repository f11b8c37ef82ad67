#include "producer/gateway/routes.h"

#include <utility>

#include "producer/gateway/documents.h"
#include "producer/gateway/evaluation/routes.h"
#include "producer/gateway/live/live_routes.h"
#include "producer/gateway/metrics.h"
#include "producer/gateway/popcorn/routes.h"
#include "producer/gateway/rest/rest.h"
#include "producer/gateway/service.h"

namespace kq::gateway {
namespace {

void add(Routes& routes, Routes more) {
  for (Route& route : more) routes.push_back(std::move(route));
}

// Makes routes pass over parameters that they do not know: those of foreign servers, and documents and pages, whose
// addresses may carry what is meant for others.
Routes with_any_parameter(Routes routes) {
  for (Route& route : routes) route.takes_any_parameter = true;
  return routes;
}

}  // namespace

Routes all_routes(const EvaluationSettings& evaluation, const PopcornSettings& popcorn, std::string page,
                  std::function<std::string()> metrics_text) {
  Routes routes = rest_routes();
  add(routes, live_routes(std::move(page)));
  add(routes, with_any_parameter(document_routes()));
  add(routes, with_any_parameter(evaluation::evaluation_routes(evaluation)));
  routes.push_back({.method = "GET",
                    .path = "/metrics",
                    .access = Access::anyone,
                    .handler =
                        [text = std::move(metrics_text)](const Request&, Service&) {
                          return Response{.status = 200, .type = std::string(kMetricsType), .body = text()};
                        },
                    .takes_any_parameter = true});
  add(routes, with_any_parameter(popcorn::popcorn_routes(popcorn.problems, popcorn.has_tokens)));
  return routes;
}

}  // namespace kq::gateway
