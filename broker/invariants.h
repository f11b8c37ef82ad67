// Checks the invariants of the broker's state. They hold between any two steps. Tests and the simulator check them
// after every step.
#pragma once

#include <optional>
#include <string>

#include "broker/core/state.h"

namespace kq::broker {

// Returns a description of the first broken invariant, or nothing. Linear in the number of unfinished jobs and
// sessions.
std::optional<std::string> broken_invariant(const State& state);

}  // namespace kq::broker
