// The routes of all doors of the gateway.
#pragma once

#include <functional>
#include <string>

#include "producer/gateway/http.h"
#include "producer/gateway/settings.h"

namespace kq::gateway {

// `page` is the HTML of the live page; empty: there is none. `metrics_text` makes the answer to GET /metrics.
Routes all_routes(const EvaluationSettings& evaluation, const PopcornSettings& popcorn, std::string page,
                  std::function<std::string()> metrics_text);

}  // namespace kq::gateway
