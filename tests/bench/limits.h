// What this machine can do at all: the floor under every latency and the ceiling over every rate.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tests/bench/bodies.h"

namespace kq::bench {

// Median microseconds of an append of 4 KB and its fdatasync, over 0.3 s. Before each run: a disk in a bad mood spoils
// figures.
double calibrate_us(const std::string& dir);

// fdatasync; a ZeroMQ round trip; synced RocksDB commits by size; SHA-256; a whole cycle without a queue (floor.h).
// Some 8 s.
nlohmann::json measure_limits(const std::string& dir, const Bodies& bodies);

}  // namespace kq::bench
