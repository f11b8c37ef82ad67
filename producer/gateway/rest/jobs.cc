// The routes of one job.
#include <algorithm>
#include <utility>

#include "producer/gateway/rest/rest.h"
#include "producer/gateway/rest/values.h"
#include "producer/gateway/service.h"
#include "tools/table/columns.h"

namespace kq::gateway {
namespace {

Expected<JobId> id_of(const Request& request) {
  return JobId::parse(request.path_values.at("id"));
}

// Adds why a queued job does not run yet.
void add_waiting(Object& job, const JobStatus& status) {
  if (status.state == JobState::finished) return;
  if (!status.worker.empty()) job.add("worker", status.worker);
  if (status.build_started_ms != 0) job.add("build_started_at", time_json(status.build_started_ms));
  if (status.state != JobState::queued) return;
  Object waiting;
  waiting.add("reason", to_string(status.why)).add("served", status.served);
  if (status.why == WaitReason::behind) waiting.add("position", status.position).add("ahead", status.ahead);
  if (status.until_ms != 0) waiting.add("until", time_json(status.until_ms));
  job.add("waiting", waiting.json());
}

// The answer for a job that has no result yet.
Response unfinished(const JobId& id, const RunRow& row) {
  Response response = json_response(202, job_object(id, row).json());
  response.headers.emplace_back("Retry-After", std::to_string(kRetryAfterSeconds));
  return response;
}

}  // namespace

Response get_job(const Request& request, Service& service) {
  const auto id = id_of(request);
  if (!id) return problem_of(id.error(), request);
  const auto row = service.find(request.submitter, *id);
  if (!row) return problem_of(row.error(), request);
  Object job = job_object(*id, *row);
  if (row->job.state != JobState::finished) {
    const auto status = service.status(request.submitter, *id);
    if (status) add_waiting(job, *status);
  }
  return json_response(200, job.json());
}

Response delete_job(const Request& request, Service& service) {
  const auto id = id_of(request);
  if (!id) return problem_of(id.error(), request);
  const auto action = service.cancel(request.submitter, *id);
  if (!action) return problem_of(action.error(), request);
  if (!action->done) return problem(409, action->reason, request);
  Object job;
  job.add("id", id->text()).add("job", id->seq).add("state", to_string(action->state));
  if (action->state == JobState::finished) {
    job.add("verdict", to_string(VerdictName::cancelled));
  } else {
    job.add("detail", action->reason);
  }
  return json_response(200, job.json());
}

Response get_job_result(const Request& request, Service& service) {
  const auto id = id_of(request);
  if (!id) return problem_of(id.error(), request);
  const auto seconds = whole_number(request.query_value("wait").value_or("0"), 0, kWaitSecondsMax);
  if (!seconds) {
    return problem(400, "wait must be a whole number of seconds from 0 to " + std::to_string(kWaitSecondsMax), request);
  }
  const std::string samples = request.query_value("samples").value_or("false");
  if (samples != "true" && samples != "false") return problem(400, "samples must be true or false", request);
  const auto row = service.wait(request.submitter, *id, *seconds * 1'000, samples == "true", request.is_abandoned);
  if (!row) return problem_of(row.error(), request);
  if (!row->result) return unfinished(*id, *row);
  Object job = job_object(*id, *row);
  job.add("result", tools::to_json(*row));
  if (samples == "true") {
    Object both;
    for (const auto& [name, times] : {std::pair{"submission_ns", &row->result->samples.submission_ns},
                                      std::pair{"reference_ns", &row->result->samples.reference_ns}}) {
      producer::JsonArray numbers;
      for (const std::int64_t time : *times) numbers.push_back(producer::Json{time});
      both.add(name, producer::Json{std::move(numbers)});
    }
    job.add("samples", both.json());
  }
  return json_response(200, job.json());
}

Response get_job_log(const Request& request, Service& service) {
  const auto id = id_of(request);
  if (!id) return problem_of(id.error(), request);
  const auto row = service.find(request.submitter, *id);
  if (!row) return problem_of(row.error(), request);
  if (!row->result) return problem(409, "the job is not finished, so it has no log yet", request);
  return {.status = 200, .type = "text/plain; charset=utf-8", .body = row->result->log};
}

Response get_job_file(const Request& request, Service& service) {
  const auto id = id_of(request);
  if (!id) return problem_of(id.error(), request);
  const auto hash = hash_from_hex(request.path_values.at("hash"));
  if (!hash) return problem(400, "the hash of a file must be 64 hexadecimal digits", request);
  const auto file = service.file(request.submitter, *id, *hash);
  if (!file) return problem_of(file.error(), request);
  return {.status = 200, .type = "text/plain; charset=utf-8", .body = std::string(file->bytes.view())};
}

}  // namespace kq::gateway
