// What all parts of one world share: its time, its chance, and what goes wrong in it.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "tests/sim/faults.h"
#include "tests/sim/random.h"
#include "tests/sim/timeline.h"

namespace kq::sim {

struct Nature {
  explicit Nature(std::uint64_t seed, std::function<void(const std::string&)> listener)
      : random(seed), rates(draw_fault_rates(random)), tell(std::move(listener)) {}

  // Whether this fault happens here and now.
  bool strikes(Fault fault) {
    if (!random.chance(rates.chance(fault))) return false;
    counts.add(fault);
    return true;
  }
  // For the trace; the text is made only where somebody listens.
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
