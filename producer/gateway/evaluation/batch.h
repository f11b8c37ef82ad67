// What the routes of single requests and of batches share, and the batch: many requests in one body, whose outcomes are
// written as they come.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "producer/gateway/evaluation/answer.h"
#include "producer/gateway/evaluation/job.h"
#include "producer/gateway/http.h"
#include "producer/gateway/service.h"

namespace kq::gateway::evaluation {

const Pod& pod();

// Adds the headers that keep an answer out of every cache.
Response not_cached(Response response);

// Gives a job its label, and a salt where it is to run again.
void name_job(EvaluationJob& made, const Service& service, bool force_rerun);

// Returns the answer for a job that the broker has not taken: 400, or 503 where it has no room.
std::optional<Response> refusal_of(const JobAck& ack);

// Returns the answer for a job: 200 or 500, and 500 with the job's id where it is not finished yet.
Response row_response(const std::string& id, const RunRow& row, const std::vector<std::string>& notes);
// 202: the job is on disk.
Response submitted_response(const std::string& id);
// 503 with the job's id, which may be empty: the broker does not answer, or the gateway stops.
Response error_response(const Error& error, const std::string& id);
Response unknown_job(const std::string& id);

// Answers POST /batch. The body is {"requests": [...]} or JSON Lines, where each request is a body of /evaluate or
// /compare, and may have an "id" of its own. Each line of the answer is {index, id, status_code, body}.
Response measure_batch(const Request& request, Service& service, const EvaluationSettings& settings);

}  // namespace kq::gateway::evaluation
