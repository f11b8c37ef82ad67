// The clock of one machine, which is off by a constant and runs too fast or too slowly.
#pragma once

#include <cstdint>

#include "tests/sim/random.h"
#include "tests/sim/timeline.h"

namespace kq::sim {

// Converts true simulated time to the time that the machine shows.
class Clock {
 public:
  static constexpr std::int64_t kWrongMsMax = 3'000;
  static constexpr std::int64_t kPacePerMilleMax = 50;

  Clock(const Timeline& timeline, Random& random)
      : timeline_(timeline),
        wrong_ms_(random.between(0, kWrongMsMax)),
        pace_per_mille_(random.between(-kPacePerMilleMax, kPacePerMilleMax)) {}

  std::int64_t now_ms() const {
    const std::int64_t true_ms = timeline_.now_ms();
    return true_ms + wrong_ms_ + (true_ms - Timeline::kBeginMs) * pace_per_mille_ / 1'000;
  }
  // Returns the true time in milliseconds until this clock shows `ms`; 0 if it already does.
  std::int64_t until(std::int64_t ms) const {
    const std::int64_t left_ms = ms - now_ms();
    return left_ms <= 0 ? 0 : left_ms * 1'000 / (1'000 + pace_per_mille_) + 1;
  }
  // Sets the clock forward, or back if `ms` is negative.
  void jump(std::int64_t ms) { wrong_ms_ += ms; }

 private:
  const Timeline& timeline_;
  std::int64_t wrong_ms_;
  std::int64_t pace_per_mille_;
};

}  // namespace kq::sim
