// kq as a farm sees it: a thousand workers that mostly wait, a hundred clients with a job now and then, and one that
// has too many.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "tests/bench/bodies.h"

namespace kq::bench {

struct Crowd {
  std::size_t workers_n = 1'000;   // each holds one job at a time, and heartbeats as the broker tells it to
  std::size_t submitters_n = 100;  // each an author of its own
  double pace_per_s = 10;          // of each submitter: single jobs, whether or not the last one is answered
  std::int64_t run_ms = 50;        // how long a worker takes over a job
  std::int64_t seconds = 5;
  std::size_t greedy_jobs_n = 0;  // queued by one more submitter before the others start
};

// Of the steady submitters' jobs: how long from the moment a job was due until its acknowledgement and until a worker
// had its lease, and the share of them that had one at the end.
nlohmann::json run_crowd(int port, const Bodies& bodies, const Crowd& crowd);

}  // namespace kq::bench
