// Tells when a model that is called again and again has become as fast as it gets, so that timed calls may begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kq::judge {

// The calls that are compared with the same number of calls before them.
inline constexpr std::size_t kSteadyCalls = 4;
// A model is steady where its last calls are not faster than those before by more than this share.
inline constexpr double kSteadyShare = 0.05;

class Steadiness {
 public:
  void add(std::int64_t interval_ns) { intervals_ns_.push_back(interval_ns); }
  // Returns whether the median of the last kSteadyCalls calls is at least 1 - kSteadyShare of that of the calls before.
  // False for fewer than 2 * kSteadyCalls calls.
  bool is_steady() const;

 private:
  std::vector<std::int64_t> intervals_ns_;
};

}  // namespace kq::judge
