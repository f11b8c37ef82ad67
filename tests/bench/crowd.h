// A load on kq-broker like that of a large cluster: a thousand workers that are mostly idle, a hundred clients that
// submit single jobs at a steady rate, and optionally one client that has queued a great many jobs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "tests/bench/bodies.h"

namespace kq::bench {

// The size of the load.
struct Crowd {
  std::size_t worker_count = 1'000;   // each runs one job at a time, and heartbeats at the broker's interval
  std::size_t submitter_count = 100;  // each has its own name and its own share of the queue
  double pace_per_s = 10;             // jobs per second of each submitter, sent without waiting for answers
  std::int64_t run_ms = 50;           // the run time of a job
  std::int64_t seconds = 5;
  std::size_t greedy_job_count = 0;  // jobs that one more submitter queues before the others start
};

// Runs the load against the broker on `port`. Returns, for the steady submitters' jobs, percentiles of the time from
// the moment a job was due until its acknowledgement (put_*_us) and until its lease (lease_*_us), and the share of the
// jobs that were leased at the end (leased_share).
nlohmann::json run_crowd(int port, const Bodies& bodies, const Crowd& crowd);

}  // namespace kq::bench
