// Measures the limits of this machine: lower bounds of latencies and upper bounds of rates.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/bench/bodies.h"

namespace kq::bench {

// Returns the median time in microseconds of an append of 4 KB with its fdatasync, measured for 0.3 s. scripts/bench
// broker calls this before each run, because a slow disk changes the figures of the run.
double calibrate_us(const std::string& dir);

// Measures fdatasync, a ZeroMQ round trip, synced RocksDB commits of several sizes, SHA-256, and a whole cycle without
// a queue (floor.h). Takes about 8 s.
nlohmann::json measure_limits(const std::string& dir, const Bodies& bodies);

}  // namespace kq::bench
