// Answers in the form that popcorn-cli reads: submissions with their runs, the full result of a job, and its report.
//
// A leaderboard submission is one job of kq and has three runs in an answer: its tests, its benchmarks, and the run
// with the score. The time of a benchmark is kq's published time, a median, under the client's name "mean"; the score
// is in seconds. kq draws the seeds itself and keeps them secret, so a submission needs no second run with secret
// seeds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"
#include "producer/client/json.h"
#include "producer/gateway/http.h"
#include "producer/gateway/popcorn/job.h"

namespace kq::gateway::popcorn {

// {"detail": sentence}, the form of every error.
Response error_answer(int status, const std::string& sentence);
Response error_answer(const Error& error);

// What identifies a submission for its client.
struct Submitted {
  std::int64_t id = 0;
  std::int64_t at_ms = 0;     // Unix time
  std::int64_t board_id = 0;  // 0: the checkout has no such board any more
  std::string user;
};

// Returns the item of a list of submissions.
producer::Json summary_json(const RunRow& row, const Submitted& submitted);

// Returns a submission with its runs, the state of its job and, where the job waits, the queue.
producer::Json details_json(const RunRow& row, const Submitted& submitted, const std::optional<JobStatus>& waiting);

// Returns {"runner", "gpu", "queued_jobs"}: how many jobs are in front of a job.
producer::Json queue_json(const RunRow& row, const JobStatus& waiting);

// Returns what a finished job has to say where it did not pass: "wrong answer: workload test.0 (size: 16): ...".
std::string failure_of(const Result& result);

// The data of the event "result": the full result and the report of a finished job.
producer::Json result_json(const RunRow& row);
std::string report_of(const RunRow& row);

// Returns a time for people: "12.3 ± 0.04 µs". An error of 0 is left out.
std::string time_words(double ns, double error_ns = 0);

}  // namespace kq::gateway::popcorn
