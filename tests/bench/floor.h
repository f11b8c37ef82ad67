// Measures the minimal cost of a durable queue that keeps kq's promises, with the same libraries as kq: the client
// hashes and packs a source, the server unpacks and checks the source and syncs two records, the worker unpacks and
// checks the source, the server syncs a result. Three threads of one process pass pointers to each other, without
// sockets, messages, scheduling, job state or resends. The difference between kq's cost and this floor is the cost of
// those.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/bench/bodies.h"

namespace kq::bench {

// Runs the cycle as the row `pipelined` does: 4 batches of 64 jobs are in flight, and the server writes everything that
// has arrived in one commit. The store is a new one below `dir`. Takes some seconds. Returns the
// rate as cycle_floor_jobs_per_s, and the processor time of all threads per job as cycle_floor_cpu_us.
nlohmann::json measure_floor(const std::string& dir, const Bodies& bodies);

}  // namespace kq::bench
