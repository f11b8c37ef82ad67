// One simulated world: a broker, workers and users, for 30 seconds with faults and then without.
//
// The world checks safety: what the oracle checks must be true at any time. It also checks liveness: after the faults
// have stopped, every submission must be acknowledged and every acknowledged job must finish.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tests/sim/faults.h"
#include "tests/sim/plant.h"

namespace kq::sim {

// What happened in one world.
struct Outcome {
  std::optional<std::string> violation;  // the first violation, if there was one
  std::int64_t lasted_ms = 0;            // simulated time
  std::uint64_t job_count = 0;
  std::uint64_t removed_count = 0;  // jobs that retention removed
  std::uint64_t removed_file_count = 0;
  std::uint64_t object_count = 0;  // artifacts that came with leases
  std::uint64_t turn_count = 0;    // turns of the broker's loop
  FaultCounts faults{};
};

// Runs the world of a seed with a planted bug, or with Plant::none. `tell` gets the lines of the trace; it may be
// empty.
Outcome run_world(std::uint64_t seed, Plant plant, const std::function<void(const std::string&)>& tell);

}  // namespace kq::sim
