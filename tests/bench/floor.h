// The least that a queue of kq's promises must do for a whole cycle, by the same libraries and nothing else: the client
// hashes and packs a source, the server unpacks and checks it and syncs two records, the worker unpacks and checks it,
// the server syncs a result. Three threads of one process hand pointers to each other: no socket, no message, no order
// of jobs, no state of theirs, nobody who is told twice. What kq adds is the difference.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/bench/bodies.h"

namespace kq::bench {

// As `pipelined`: 4 batches of 64 on their way, everything that has come in one commit. In a store of its own below
// `dir`; some seconds.
// {"cycle_floor_jobs_per_s": N, "cycle_floor_cpu_us": of all three threads and RocksDB's, per job}
nlohmann::json measure_floor(const std::string& dir, const Bodies& bodies);

}  // namespace kq::bench
