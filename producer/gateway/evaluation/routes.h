// The routes of the evaluation server, and those that kq puts beside them:
//
//   POST /evaluate, /compare, /   measure a kernel and wait for the outcome; ?wait=0 answers 202 with the job's id
//   POST /batch                   many such requests in one body; the outcomes as they come, JSON Lines
//   GET /job/ID                   the state and the result; ?wait=SECONDS waits for it
//   DELETE /job/ID                cancels the job
//   GET /health, /stats, POST /admin/cleanup-jobs
//
// A client that goes away loses nothing: its job ends, and its result stays at /job/ID.
#pragma once

#include <cstdint>

#include "producer/gateway/evaluation/job.h"
#include "producer/gateway/http.h"
#include "producer/gateway/settings.h"

namespace kq::gateway::evaluation {

// The run of all jobs of these routes.
inline constexpr std::string_view kRun = "evaluation";

inline constexpr std::size_t kBodyBytesMax = 32u << 20;
inline constexpr std::size_t kBatchBytesMax = 64u << 20;
inline constexpr std::size_t kBatchRequestsMax = 1024;
inline constexpr std::int64_t kJobWaitMaxS = 600;  // of GET /job/ID
// How long before the client's own limit an answer leaves, because clients wait exactly as long as the job may take.
inline constexpr std::int64_t kAnswerAheadMs = 500;

// Returns the routes. The gateway counts as started by this call.
Routes evaluation_routes(const EvaluationSettings& settings);

}  // namespace kq::gateway::evaluation
