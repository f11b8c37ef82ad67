// The answers to the evaluation server's clients, made from a job's row.
//
// A kernel that fails is answered 200, and `compiled` and `correctness` say so. What is no property of the kernel (a
// time limit, a device that is not there, a failure of kq) is answered 500 with the job's id. Members without a value
// are left out. All times are milliseconds with all digits that were measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"
#include "producer/gateway/evaluation/kernel_code.h"

namespace kq::gateway::evaluation {

// The names that the answers give for the gateway's host: its name, and its first address that other hosts may reach.
struct Pod {
  std::string name;
  std::string ip;
};
Pod this_pod();

// Returns the type of a GPU as clients know it, "a100", "h100" or "h200"; empty for every other device.
std::string gpu_type_of(std::string_view device_model);
// Returns the type that the operator has named, else that of the device on which a finished job ran.
std::string gpu_type_of(const RunRow& row);

// Returns why a finished job is answered 500, or nothing where its kernel has an outcome.
std::optional<std::string> failure_of(const RunRow& row);

// Returns the body for a finished job whose kernel has an outcome.
producer::Json outcome_body(const std::string& job_id, const RunRow& row, const Pod& pod,
                            const std::vector<std::string>& notes);

// Returns the body for every error that is no mistake of the client's: 500 and 503.
producer::Json error_body(const std::string& error, const std::string& job_id, const Pod& pod);
// Returns the body of 400.
producer::Json client_error_body(const BodyError& error);
// Returns the body of 404.
producer::Json not_found_body(const std::string& error);

// Returns the body of GET /job/ID: the state, and once the job is finished its outcome as `result`.
producer::Json job_body(const std::string& job_id, const RunRow& row, const Pod& pod);

// "submitted", "completed" or "failed", the states that clients know.
std::string_view status_of(const RunRow& row);

}  // namespace kq::gateway::evaluation
