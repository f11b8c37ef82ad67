// What is always true of the broker's RAM, between any two steps. Tests and the simulated world ask after every step.
#pragma once

#include <optional>
#include <string>

#include "broker/core/state.h"

namespace kq::broker {

// The first promise that is broken, in words, or nothing. Linear in the number of unfinished jobs and sessions.
std::optional<std::string> broken_invariant(const State& state);

}  // namespace kq::broker
