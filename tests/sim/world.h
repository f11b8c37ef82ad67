// One simulated world: a broker, workers and users, first under faults, then in calm.
//
// Safety: nothing the oracle watches may break at any time. Liveness: once the faults stop, everything that was
// submitted is acknowledged and every acknowledged job finishes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tests/sim/faults.h"
#include "tests/sim/plant.h"

namespace kq::sim {

struct Outcome {
  std::optional<std::string> violation;  // the first one
  std::int64_t lasted_ms = 0;            // simulated time
  std::uint64_t jobs_n = 0;
  std::uint64_t removed_n = 0;  // of them, by retention
  std::uint64_t removed_files_n = 0;
  std::uint64_t objects_n = 0;  // built by one worker, leased to another
  std::uint64_t turns_n = 0;    // of the broker
  FaultCounts faults{};
};

// `tell` hears what happens, one line at a time; it may be empty.
Outcome run_world(std::uint64_t seed, Plant plant, const std::function<void(const std::string&)>& tell);

}  // namespace kq::sim
