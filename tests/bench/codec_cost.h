// Measures the cost of one job in the codec, in hashing and in packing, in nanoseconds of processor time. Processor
// time stays the same when other processes use the machine.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tests/bench/bodies.h"

namespace kq::bench {

// Returns an object with nanoseconds (keys that end in _ns) and sizes (keys that end in _bytes), all per job.
nlohmann::json measure_codec(const Bodies& bodies);

}  // namespace kq::bench
