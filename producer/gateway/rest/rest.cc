#include "producer/gateway/rest/rest.h"

namespace kq::gateway {

Routes rest_routes() {
  return {
      {.method = "POST", .path = "/api/v1/jobs", .handler = post_jobs, .body_bytes_max = kJobsBodyBytesMax},
      {.method = "GET", .path = "/api/v1/jobs/{id}", .handler = get_job},
      {.method = "DELETE", .path = "/api/v1/jobs/{id}", .handler = delete_job},
      {.method = "GET", .path = "/api/v1/jobs/{id}/result", .handler = get_job_result, .waits = true},
      {.method = "GET", .path = "/api/v1/jobs/{id}/log", .handler = get_job_log},
      {.method = "GET", .path = "/api/v1/jobs/{id}/files/{hash}", .handler = get_job_file},
      {.method = "GET", .path = "/api/v1/runs", .handler = get_runs},
      {.method = "GET", .path = "/api/v1/runs/{run}", .handler = get_run},
      {.method = "GET", .path = "/api/v1/runs/{run}/results", .handler = get_run_results, .waits = true},
      {.method = "GET", .path = "/api/v1/runs/{run}/events", .handler = get_run_events, .waits = true},
      {.method = "GET", .path = "/api/v1/boards/{problem}", .handler = get_board},
      {.method = "GET", .path = "/api/v1/broker", .handler = get_broker},
  };
}

}  // namespace kq::gateway
