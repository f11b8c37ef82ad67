// What all parts of one simulated world share: its time, its random numbers, its faults and its trace.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "tests/sim/faults.h"
#include "tests/sim/random.h"
#include "tests/sim/timeline.h"

namespace kq::sim {

// The random numbers are drawn in a fixed order, so that a seed always gives the same world.
struct Context {
  explicit Context(std::uint64_t seed, std::function<void(const std::string&)> listener)
      : random(seed), rates(draw_fault_rates(random)), tell(std::move(listener)) {}

  // Draws whether the fault happens now, and counts it if it does.
  bool strikes(Fault fault) {
    if (!random.chance(rates.chance(fault))) return false;
    counts.add(fault);
    return true;
  }
  // Adds a line to the trace. `text` is a function, which is called only if there is a listener.
  template <class Text>
  void trace(Text&& text) const {
    if (tell) tell(std::to_string(timeline.now_ms() - Timeline::kBeginMs) + " " + text());
  }

  Random random;
  FaultRates rates;
  FaultCounts counts{};
  Timeline timeline{};
  std::function<void(const std::string&)> tell;  // may be empty
};

}  // namespace kq::sim
