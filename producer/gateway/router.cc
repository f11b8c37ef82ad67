#include "producer/gateway/router.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kq::gateway {
namespace {

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Returns the values of the names in a pattern, or nothing where the path does not fit. A name fits no empty part.
std::optional<std::map<std::string, std::string>> fit(std::string_view pattern,
                                                      const std::vector<std::string_view>& parts) {
  const auto wanted = parts_of(pattern);
  if (wanted.size() != parts.size()) return std::nullopt;
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto decoded = net::percent_decoded(parts[i]);
    if (!decoded) return std::nullopt;
    if (wanted[i].starts_with('{')) {
      if (decoded->empty()) return std::nullopt;
      values[std::string(wanted[i].substr(1, wanted[i].size() - 2))] = std::move(*decoded);
    } else if (*decoded != wanted[i]) {
      return std::nullopt;
    }
  }
  return values;
}

}  // namespace

RouteMatch Router::match(std::string_view method, std::string_view path) const {
  if (method == "HEAD") method = "GET";
  const auto parts = parts_of(path);
  RouteMatch found;
  const auto begins_with_name = [](const Route& route) { return route.path.starts_with("/{"); };
  const bool is_own = path.starts_with("/api/");  // no name of another server stands for kq's own paths
  for (const Route& route : routes_) {
    if (begins_with_name(route) && (is_own || !found.other_methods.empty())) continue;
    auto values = fit(route.path, parts);
    if (!values) continue;
    if (route.method == method) return {.route = &route, .path_values = std::move(*values), .other_methods = {}};
    found.other_methods.push_back(route.method);
  }
  return found;
}

}  // namespace kq::gateway
