// kq's own REST under /api/v1. share/kq.openapi.json describes it; a test compares both.
#pragma once

#include "producer/gateway/http.h"

namespace kq::gateway {

inline constexpr std::size_t kJobsBodyBytesMax = 32u << 20;  // of POST /api/v1/jobs
inline constexpr std::int64_t kWaitSecondsMax = 300;         // of ?wait=
inline constexpr std::size_t kIdempotencyKeyBytesMax = 255;
inline constexpr std::size_t kProgressJobsMax = 100'000;    // of a run whose progress is counted
inline constexpr std::int64_t kEventsSecondsMax = 3'600;    // of one stream of events; a client connects again
inline constexpr std::int64_t kEventsKeepAliveMs = 10'000;  // between two comments of a stream without news

Routes rest_routes();

// The handlers of the table.
Response post_jobs(const Request& request, Service& service);
Response get_job(const Request& request, Service& service);
Response delete_job(const Request& request, Service& service);
Response get_job_result(const Request& request, Service& service);
Response get_job_log(const Request& request, Service& service);
Response get_job_file(const Request& request, Service& service);
Response get_runs(const Request& request, Service& service);
Response get_run(const Request& request, Service& service);
Response get_run_results(const Request& request, Service& service);
Response get_run_events(const Request& request, Service& service);
Response get_boards(const Request& request, Service& service);
Response get_board(const Request& request, Service& service);
Response get_broker(const Request& request, Service& service);

}  // namespace kq::gateway
