// One step of the broker in progress: the state that it changes, what it wants done, and the time.
#pragma once

#include <cstdint>

#include "broker/core/ready.h"
#include "broker/core/state.h"

namespace kq::broker {

struct Step {
  State& state;
  Ready& ready;
  std::int64_t now_ms;  // Unix time
};

}  // namespace kq::broker
