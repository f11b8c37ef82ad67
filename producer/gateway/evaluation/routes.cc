#include "producer/gateway/evaluation/routes.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "producer/gateway/evaluation/answer.h"
#include "producer/gateway/evaluation/batch.h"
#include "producer/gateway/evaluation/statistics.h"
#include "producer/gateway/service.h"

namespace kq::gateway::evaluation {
namespace {

using producer::Json;
using producer::JsonObject;

// The answer of the frame on these routes: to a missing token, a body that is too long, a full gateway.
Response frame_error(int status, const std::string& error, const Request&) {
  if (status == 404) return not_cached(json_response(status, not_found_body(error)));
  if (status >= 500) return not_cached(json_response(status, error_body(error, "", pod())));
  BodyError body;
  body.refusal = Refusal{error};
  return not_cached(json_response(status, client_error_body(body)));
}

// Returns the value of ?wait= in milliseconds, or nothing where it is absent. Fails with a sentence.
tl::expected<std::optional<std::int64_t>, BodyError> wait_of(const Request& request, std::int64_t max_s) {
  const auto given = request.query_value("wait");
  if (!given) return std::nullopt;
  std::int64_t seconds = 0;
  const auto [end, code] = std::from_chars(given->data(), given->data() + given->size(), seconds);
  if (code == std::errc() && end == given->data() + given->size() && seconds >= 0 && seconds <= max_s)
    return seconds * 1'000;
  BodyError error;
  error.refusal = Refusal{"wait must be a number of seconds from 0 to " + std::to_string(max_s)};
  error.refusal->details.emplace_back("wait", Json{std::string(*given)});
  return tl::unexpected(std::move(error));
}

Response client_error(const BodyError& error) {
  return not_cached(json_response(400, client_error_body(error)));
}

// Answers a request to measure a kernel.
Response measure(const Request& request, Service& service, const EvaluationSettings& settings, bool compares) {
  auto read = compares ? read_compare(request.body) : read_evaluate(request.body);
  if (!read) return client_error(read.error());
  const auto wait = wait_of(request, kTimeoutMaxS);
  if (!wait) return client_error(wait.error());
  const std::int64_t timeout_ms = std::int64_t{read->timeout_s} * 1'000;
  auto made = job_of(*read, settings);
  if (!made) return client_error(made.error());
  name_job(*made, service, read->force_rerun);

  const auto sent = service.submit(request.submitter, std::string(kRun), std::span(&made->job, 1));
  if (!sent) return error_response(sent.error(), "");
  const SubmittedJob& job = sent->front();
  if (auto refused = refusal_of(job.ack)) return std::move(*refused);
  const std::string id = job.id.text();
  if (*wait == 0) return submitted_response(id);
  const auto row =
      service.wait(request.submitter, job.id, wait->value_or(timeout_ms - kAnswerAheadMs), true, request.is_abandoned);
  if (!row) return error_response(row.error(), id);
  return row_response(id, *row, made->notes);
}

Response find_job(const Request& request, Service& service) {
  const std::string& text = request.path_values.at("id");
  const auto wait = wait_of(request, kJobWaitMaxS);
  if (!wait) return client_error(wait.error());
  const auto id = JobId::parse(text);
  if (!id) return unknown_job(text);
  const auto row = *wait && **wait > 0 ? service.wait(request.submitter, *id, **wait, true, request.is_abandoned)
                                       : service.find(request.submitter, *id, true);
  if (!row) return row.error().kind == ErrorKind::not_found ? unknown_job(text) : error_response(row.error(), text);
  return not_cached(json_response(200, job_body(text, *row, pod())));
}

Response cancel_job(const Request& request, Service& service) {
  const std::string& text = request.path_values.at("id");
  const auto id = JobId::parse(text);
  if (!id) return unknown_job(text);
  const auto action = service.cancel(request.submitter, *id);
  if (!action)
    return action.error().kind == ErrorKind::not_found ? unknown_job(text) : error_response(action.error(), text);
  JsonObject body;
  body.emplace_back("job_id", Json{text});
  body.emplace_back("status", Json{std::string(action->state == JobState::finished ? "finished" : "submitted")});
  body.emplace_back("cancelled", Json{action->done});
  if (!action->reason.empty()) body.emplace_back("reason", Json{action->reason});
  return not_cached(json_response(200, Json{std::move(body)}));
}

Response health(const Request&, Service& service) {
  const auto broker = service.broker();
  const auto statistics = service.statistics();
  if (broker && statistics) return not_cached(json_response(200, health_body(*broker, *statistics, service.now_ms())));
  JsonObject body;
  body.emplace_back("status", Json{std::string("unhealthy")});
  body.emplace_back("error", Json{(broker ? statistics.error() : broker.error()).message});
  return not_cached(json_response(500, Json{std::move(body)}));
}

Response stats(const Request&, Service& service, std::int64_t started_ms) {
  const auto broker = service.broker();
  if (!broker) return error_response(broker.error(), "");
  const auto statistics = service.statistics();
  if (!statistics) return error_response(statistics.error(), "");
  return not_cached(json_response(200, stats_body(*broker, *statistics, service.now_ms(), started_ms)));
}

// The broker removes old jobs by its own rule (kq-broker --keep), and results stay until then.
Response cleanup(const Request&, Service&) {
  JsonObject body;
  body.emplace_back("status", Json{std::string("cleanup_completed")});
  return not_cached(json_response(200, Json{std::move(body)}));
}

}  // namespace

Routes evaluation_routes(const EvaluationSettings& settings) {
  using std::chrono::system_clock;
  const std::int64_t started_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch()).count();
  const auto route = [](std::string method, std::string path, Handler handler) {
    return Route{.method = std::move(method),
                 .path = std::move(path),
                 .handler = std::move(handler),
                 .error_shape = &frame_error};
  };
  const auto measures = [&](std::string path, bool compares) {
    Route made = route("POST", std::move(path), [=](const Request& request, Service& service) {
      return measure(request, service, settings, compares);
    });
    made.body_bytes_max = kBodyBytesMax;
    made.waits = true;
    return made;
  };
  Routes routes{measures("/evaluate", false), measures("/compare", true), measures("/", true)};
  routes.push_back(route("POST", "/batch", [=](const Request& request, Service& service) {
    return measure_batch(request, service, settings);
  }));
  routes.back().body_bytes_max = kBatchBytesMax;
  routes.back().waits = true;
  routes.push_back(route("GET", "/job/{id}", find_job));
  routes.back().waits = true;
  routes.push_back(route("DELETE", "/job/{id}", cancel_job));
  routes.push_back(route("GET", "/health", health));
  routes.back().access = Access::anyone;
  routes.push_back(route(
      "GET", "/stats", [=](const Request& request, Service& service) { return stats(request, service, started_ms); }));
  routes.push_back(route("POST", "/admin/cleanup-jobs", cleanup));
  return routes;
}

}  // namespace kq::gateway::evaluation
