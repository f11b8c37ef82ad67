// What every answer of the evaluation server's routes must be, for tests that send anything.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "producer/gateway/evaluation/canned_service.h"
#include "producer/gateway/evaluation/routes.h"

namespace kq::gateway::evaluation {

// Returns a service whose jobs all have passed.
inline CannedService passing_service() {
  CannedService service;
  service.result = [](const Submission&) {
    Measurement measurement;
    measurement.submission = measurement.reference = summarise(std::vector<std::int64_t>{1'000, 3'000});
    Result result;
    result.verdict = Passed{measurement, {}};
    return result;
  };
  return service;
}

// Returns the answer of a route to a body.
inline Response answer_to(const Routes& routes, Service& service, const std::string& path, std::string body) {
  Request request;
  request.method = "POST";
  request.path = path;
  request.body = std::move(body);
  const auto route =
      std::ranges::find_if(routes, [&](const Route& one) { return one.method == "POST" && one.path == path; });
  Response response = route->handler(request, service);
  if (!response.stream) return response;
  response.stream([&](std::string_view bytes) {
    response.body += bytes;
    return true;
  });
  return response;
}

inline bool has_text(const producer::Json& json, std::string_view key) {
  const producer::Json* member = json.find(key);
  return member != nullptr && member->text() != nullptr && !member->text()->empty();
}

// Returns what is wrong with the answer to one request, or nothing where it is a documented one.
inline std::optional<std::string> undocumented(int status, const producer::Json& body) {
  if (!has_text(body, "status")) return "the answer has no status";
  const std::string& said = *body.find("status")->text();
  if (status == 200) {
    const producer::Json* executed = body.find("kernel_exec_result");
    const bool has_flags = executed != nullptr && executed->find("compiled") != nullptr &&
                           executed->find("correctness") != nullptr && executed->find("runtime") != nullptr;
    return said == "success" && has_flags && has_text(body, "job_id") ? std::nullopt
                                                                      : std::optional("no outcome is in a 200");
  }
  if (status != 400) return "the status is " + std::to_string(status);
  if (said != "client_error" || !has_text(body, "error")) return "a 400 without its error";
  const producer::Json* fields = body.find("validation_errors");
  if (fields == nullptr) return body.find("details") != nullptr ? std::nullopt : std::optional("a 400 without details");
  for (const producer::Json& one : *fields->array()) {
    if (!has_text(one, "field") || !has_text(one, "message") || !has_text(one, "type")) return "a field without a name";
  }
  return fields->array()->empty() ? std::optional("a 400 without a field") : std::nullopt;
}

// Returns what is wrong with a job that a request made, or nothing where every broker accepts it.
inline std::optional<std::string> unacceptable(const producer::PackedJob& job) {
  if (const auto valid = validate(job.submission); !valid) return valid.error().message;
  for (const producer::FileRef& file : job.files) {
    if (const auto content = producer::contents(file); !content) return content.error().message;
  }
  return std::nullopt;
}

}  // namespace kq::gateway::evaluation
