// Finds the route of a request among the tables of all doors.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "producer/gateway/http.h"

namespace kq::gateway {

struct RouteMatch {
  const Route* route = nullptr;                    // null where no route has this path and method
  std::map<std::string, std::string> path_values;  // decoded
  std::vector<std::string> other_methods;          // of routes with this path, where `route` is null
};

class Router {
 public:
  explicit Router(Routes routes) : routes_(std::move(routes)) {}

  // `path` is percent-encoded, so that a name may have a slash. HEAD is served by the route of GET. A route whose path
  // begins with a name serves only paths that no other route has.
  RouteMatch match(std::string_view method, std::string_view path) const;
  const Routes& routes() const { return routes_; }

 private:
  const Routes routes_;
};

}  // namespace kq::gateway
