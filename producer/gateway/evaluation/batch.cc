#include "producer/gateway/evaluation/batch.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "producer/gateway/evaluation/routes.h"

namespace kq::gateway::evaluation {
namespace {

using producer::Json;
using producer::JsonArray;
using producer::JsonObject;

constexpr std::int64_t kBatchPollMs = 10'000;  // the longest wait between two looks at the time

// One request of a batch.
struct Item {
  std::size_t index = 0;
  Json id{};  // as the client names it
  std::optional<EvaluationJob> made{};
  std::optional<Response> answer{};  // of a request that has no job
  JobId job{};
  std::int64_t deadline_ms = 0;  // Unix time
};

// Whether a body is a request by itself, and so a line of JSON Lines.
bool is_request(const Json& json) {
  constexpr std::string_view kMembers[] = {"kernel", "ref_kernel", "custom_kernel", "ref_code", "custom_code"};
  return std::ranges::any_of(kMembers, [&](std::string_view name) { return json.find(name) != nullptr; });
}

tl::expected<JsonArray, BodyError> requests_of(const std::string& body) {
  const auto refused = [](std::string field, std::string message, std::string type) {
    return tl::unexpected(BodyError{.fields = {{std::move(field), std::move(message), std::move(type)}}});
  };
  const Expected<Json> whole = producer::parse_json(body);
  JsonArray requests;
  if (const Json* given = whole ? whole->find("requests") : nullptr; given != nullptr) {
    if (given->array() == nullptr)
      return refused("requests", "must be a list, got " + producer::described(*given), "list_type");
    requests = *given->array();
  } else if (whole && !is_request(*whole)) {
    return refused("requests", "is required, or JSON Lines with a request in each line", "missing");
  } else {
    for (std::size_t start = 0; start < body.size() && requests.size() <= kBatchRequestsMax;) {
      const std::size_t end = std::min(body.find('\n', start), body.size());
      const std::string_view line = std::string_view(body).substr(start, end - start);
      start = end + 1;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      Expected<Json> request = producer::parse_json(line);
      if (!request)
        return refused("body -> " + std::to_string(requests.size()), "is not JSON, " + request.error().message,
                       "json_invalid");
      requests.push_back(std::move(*request));
    }
  }
  if (requests.empty()) return refused("requests", "is empty: a batch has at least one request", "value_error");
  if (requests.size() > kBatchRequestsMax)
    return refused("requests", "has more than " + std::to_string(kBatchRequestsMax) + " requests", "value_error");
  return requests;
}

void prepare(Item& item, const Json& request, const Service& service, const EvaluationSettings& settings) {
  if (const Json* id = request.find("id")) item.id = *id;
  auto read =
      request.find("kernel") != nullptr || request.object() == nullptr ? read_evaluate(request) : read_compare(request);
  if (read) {
    auto made = job_of(*read, settings);
    if (made) {
      name_job(*made, service, read->force_rerun);
      item.deadline_ms = service.now_ms() + std::int64_t{read->timeout_s} * 1'000;
      item.made = std::move(*made);
      return;
    }
    item.answer = json_response(400, client_error_body(made.error()));
    return;
  }
  item.answer = json_response(400, client_error_body(read.error()));
}

// Submits the jobs of all requests that have one.
void submit(std::vector<Item>& items, const Request& request, Service& service) {
  std::vector<producer::PackedJob> jobs;
  std::vector<Item*> senders;
  for (Item& item : items) {
    if (!item.made) continue;
    jobs.push_back(item.made->job);
    senders.push_back(&item);
  }
  if (jobs.empty()) return;
  const auto sent = service.submit(request.submitter, std::string(kRun), jobs);
  for (std::size_t i = 0; i < senders.size(); ++i) {
    if (!sent) {
      senders[i]->answer = error_response(sent.error(), "");
    } else if (auto refused = refusal_of((*sent)[i].ack)) {
      senders[i]->answer = std::move(*refused);
    } else {
      senders[i]->job = (*sent)[i].id;
    }
  }
}

std::string line_of(const Item& item, const Response& response) {
  std::string line = "{\"index\": " + std::to_string(item.index);
  if (!item.id.is_null()) line += ", \"id\": " + producer::to_text(item.id);
  line += ", \"status_code\": " + std::to_string(response.status) + ", \"body\": ";
  line += response.body.ends_with('\n') ? response.body.substr(0, response.body.size() - 1) : response.body;
  return line + "}\n";
}

// Writes the outcome of each job as it comes. Returns false early once the client has gone; the jobs go on.
bool write_outcomes(std::vector<Item>& items, const Request& request, Service& service, const Write& write) {
  std::vector<Item*> open;
  for (Item& item : items) {
    if (!item.answer) {
      open.push_back(&item);
    } else if (!write(line_of(item, *item.answer))) {
      return false;
    }
  }
  while (!open.empty()) {
    std::vector<Sequence> jobs;
    std::int64_t first_deadline_ms = open.front()->deadline_ms;
    for (const Item* item : open) {
      jobs.push_back(item->job.seq);
      first_deadline_ms = std::min(first_deadline_ms, item->deadline_ms);
    }
    const std::int64_t wait_ms = std::clamp<std::int64_t>(first_deadline_ms - service.now_ms(), 0, kBatchPollMs);
    const auto states = service.wait_any(jobs, wait_ms, request.is_abandoned);
    std::map<Sequence, JobState> state_of;
    if (states) {
      for (const JobStatus& status : *states) state_of[status.seq] = status.state;
    }
    std::vector<Item*> still_open;
    for (Item* item : open) {
      const auto found = state_of.find(item->job.seq);
      const bool is_finished = found != state_of.end() && found->second == JobState::finished;
      if (states && !is_finished && service.now_ms() < item->deadline_ms) {
        still_open.push_back(item);
        continue;
      }
      const std::string id = item->job.text();
      const auto row =
          states ? service.find(request.submitter, item->job, true) : Expected<RunRow>(failure(states.error()));
      const Response response = row ? row_response(id, *row, item->made->notes) : error_response(row.error(), id);
      if (!write(line_of(*item, response))) return false;
    }
    open = std::move(still_open);
  }
  return true;
}

}  // namespace

const Pod& pod() {
  static const Pod kPod = this_pod();
  return kPod;
}

Response not_cached(Response response) {
  response.headers.emplace_back("Cache-Control", "no-cache, no-store, must-revalidate");
  response.headers.emplace_back("Pragma", "no-cache");
  response.headers.emplace_back("Expires", "0");
  return response;
}

void name_job(EvaluationJob& made, const Service& service, bool force_rerun) {
  made.job.submission.label = service.random_name();
  if (force_rerun) made.job.submission.salt = service.random_name();
}

std::optional<Response> refusal_of(const JobAck& ack) {
  if (ack.acceptance == Acceptance::busy) {
    Response response = not_cached(json_response(503, error_body(ack.reason, "", pod())));
    response.headers.emplace_back("Retry-After", std::to_string(std::max(1u, (ack.retry_after_ms + 999) / 1'000)));
    return response;
  }
  if (ack.acceptance != Acceptance::refused) return std::nullopt;
  BodyError error;
  error.refusal = Refusal{ack.reason};
  return not_cached(json_response(400, client_error_body(error)));
}

Response row_response(const std::string& id, const RunRow& row, const std::vector<std::string>& notes) {
  const auto failed = [&](const std::string& error) {
    return not_cached(json_response(500, error_body(error, id, pod())));
  };
  if (!row.result) {
    const auto& tags = row.entry.submission.tags;
    const auto timeout = tags.find(std::string(kTimeoutTag));
    return failed("Job timed out after " + (timeout == tags.end() ? "its" : timeout->second) + " seconds; GET /job/" +
                  id + " has its result once it is finished");
  }
  if (const auto failure = failure_of(row)) return failed(*failure);
  Response response = not_cached(json_response(200, outcome_body(id, row, pod(), notes)));
  if (const std::string type = gpu_type_of(row); !type.empty()) response.headers.emplace_back("X-GPU-Type", type);
  return response;
}

Response submitted_response(const std::string& id) {
  JsonObject body;
  body.emplace_back("job_id", Json{id});
  body.emplace_back("status", Json{std::string("submitted")});
  return not_cached(json_response(202, Json{std::move(body)}));
}

Response error_response(const Error& error, const std::string& id) {
  Response response = not_cached(json_response(503, error_body(error.message, id, pod())));
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response unknown_job(const std::string& id) {
  return not_cached(json_response(404, not_found_body("Job " + id + " not found")));
}

Response measure_batch(const Request& request, Service& service, const EvaluationSettings& settings) {
  const auto requests = requests_of(request.body);
  if (!requests) return not_cached(json_response(400, client_error_body(requests.error())));
  auto items = std::make_shared<std::vector<Item>>(requests->size());
  for (std::size_t i = 0; i < requests->size(); ++i) {
    (*items)[i].index = i;
    prepare((*items)[i], (*requests)[i], service, settings);
  }
  submit(*items, request, service);
  Response response = not_cached({});
  response.type = "application/x-ndjson";
  Request head;  // without the body, which may be long
  head.submitter = request.submitter;
  head.is_abandoned = request.is_abandoned;
  response.stream = [items, head = std::move(head), &service](const Write& write) {
    return write_outcomes(*items, head, service, write);
  };
  return response;
}

}  // namespace kq::gateway::evaluation
