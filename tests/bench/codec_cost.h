// What one job costs in the codec and around it, in nanoseconds of processor time: steady even on a busy machine.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tests/bench/bodies.h"

namespace kq::bench {

nlohmann::json measure_codec(const Bodies& bodies);

}  // namespace kq::bench
