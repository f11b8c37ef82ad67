#include "producer/gateway/rest/rest.h"

namespace kq::gateway {

Routes rest_routes() {
  // In a shell, an empty value is a variable that is not set: a run without a name would get another one.
  const QueryParameter after{.name = "after", .may_be_empty = true};  // the first page
  return {
      {.method = "POST",
       .path = "/api/v1/jobs",
       .handler = post_jobs,
       .body_bytes_max = kJobsBodyBytesMax,
       .parameters = {{"run"}, {.name = "force_rerun", .may_be_empty = true}}},
      {.method = "GET", .path = "/api/v1/jobs/{id}", .handler = get_job},
      {.method = "DELETE", .path = "/api/v1/jobs/{id}", .handler = delete_job},
      {.method = "GET",
       .path = "/api/v1/jobs/{id}/result",
       .handler = get_job_result,
       .waits = true,
       .parameters = {{"wait"}, {"samples"}}},
      {.method = "GET", .path = "/api/v1/jobs/{id}/log", .handler = get_job_log},
      {.method = "GET", .path = "/api/v1/jobs/{id}/files/{hash}", .handler = get_job_file},
      {.method = "GET", .path = "/api/v1/runs", .handler = get_runs, .parameters = {after, {"limit"}}},
      {.method = "GET", .path = "/api/v1/runs/{run}", .handler = get_run},
      {.method = "GET",
       .path = "/api/v1/runs/{run}/results",
       .handler = get_run_results,
       .waits = true,
       .parameters =
           {{"format"}, {"columns"}, {.name = "where", .may_repeat = true}, {"since"}, {"level"}, after, {"limit"}}},
      {.method = "GET", .path = "/api/v1/runs/{run}/events", .handler = get_run_events, .waits = true},
      {.method = "GET", .path = "/api/v1/boards", .handler = get_boards, .parameters = {after, {"limit"}}},
      {.method = "GET", .path = "/api/v1/boards/{problem}", .handler = get_board},
      {.method = "GET", .path = "/api/v1/broker", .handler = get_broker},
  };
}

}  // namespace kq::gateway
