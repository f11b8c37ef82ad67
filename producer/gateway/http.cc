#include "producer/gateway/http.h"

#include <algorithm>
#include <utility>

#include "sys/nearest.h"

namespace kq::gateway {

using producer::Json;
using producer::JsonObject;

namespace {

std::string unknown_parameter_text(const Route& route, const std::string& name) {
  const std::string what =
      "there is no parameter " + producer::json_quoted(name) + " of " + route.method + " " + route.path + "; ";
  if (route.parameters.empty()) return what + "the path takes no parameters";
  std::vector<std::string> known;
  std::string listed;
  for (const QueryParameter& one : route.parameters) {
    known.push_back(one.name);
    listed += (listed.empty() ? "" : ", ") + one.name;
  }
  const auto meant = sys::nearest(name, known);
  return what + (meant ? "did you mean " + *meant + "? " : "") + "known are: " + listed;
}

}  // namespace

std::optional<std::string> query_error(const Route& route, const std::multimap<std::string, std::string>& query) {
  for (const auto& [name, value] : query) {
    const auto known = std::ranges::find(route.parameters, name, &QueryParameter::name);
    const bool is_known = known != route.parameters.end();
    if (!is_known && !route.takes_any_parameter) return unknown_parameter_text(route, name);
    if (query.count(name) > 1 && !(is_known && known->may_repeat))
      return "the query has the parameter " + producer::json_quoted(name) + " twice; one value is needed";
    if (is_known && value.empty() && !known->may_be_empty)
      return "the parameter " + name + " is empty; leave it out, or give it a value";
  }
  return std::nullopt;
}

Response json_response(int status, const Json& body) {
  return {.status = status, .type = "application/json", .body = producer::to_text(body) + "\n"};
}

Response problem(int status, const std::string& detail, const Request& request, JsonObject more) {
  JsonObject body;
  body.emplace_back("type", Json{std::string("about:blank")});
  body.emplace_back("title", Json{std::string(net::reason_phrase(status))});
  body.emplace_back("status", Json{std::int64_t{status}});
  body.emplace_back("detail", Json{detail});
  if (!request.path.empty()) body.emplace_back("instance", Json{request.path});
  if (!request.id.empty()) body.emplace_back("request_id", Json{request.id});
  for (producer::JsonMember& member : more) body.push_back(std::move(member));
  Response response = json_response(status, Json{std::move(body)});
  response.type = "application/problem+json";
  return response;
}

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input:
      return 400;
    case ErrorKind::not_found:
      return 404;
    case ErrorKind::gave_up:
      return 504;
    case ErrorKind::our_fault:
    case ErrorKind::interrupted:
      return 503;
  }
  return 500;
}

Response problem_of(const Error& error, const Request& request) {
  Response response = problem(status_of(error.kind), error.message, request);
  if (response.status == 503) response.headers.emplace_back("Retry-After", std::to_string(kRetryAfterSeconds));
  return response;
}

}  // namespace kq::gateway
