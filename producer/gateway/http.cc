#include "producer/gateway/http.h"

#include <utility>

namespace kq::gateway {

using producer::Json;
using producer::JsonObject;

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
