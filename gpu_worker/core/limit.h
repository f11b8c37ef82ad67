// How long a job may take: what its worker allows, or less where it asks for less; and what of that is left to the
// parts of its run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/submission.h"

namespace kq::worker {

std::int64_t limit_of(const Submission& submission, std::int64_t workers_ms);

// "120 s", "1500 ms".
std::string limit_text(std::int64_t ms);

inline constexpr std::int64_t kAnotherAttemptMs =
    1'000;  // what a child takes that is forked, loads and is calibrated: less is no time for another attempt

// The time of a run: its attempts, second looks and the pass under a profiler have one limit together. It begins with
// the first plan that the judge gets, as what the lane has to start before is ours.
class RunTime {
 public:
  explicit RunTime(std::int64_t limit_ms) : limit_ms_(limit_ms) {}

  void begin(std::int64_t now_ms);  // the first one counts
  std::int64_t limit_ms() const { return limit_ms_; }
  std::int64_t left_ms(std::int64_t now_ms) const;  // 0 once it is over
  // For something more that is expected to take as long.
  bool has_room(std::int64_t now_ms, std::int64_t expected_ms) const;

 private:
  std::int64_t limit_ms_;
  std::optional<std::int64_t> end_ms_;
};

}  // namespace kq::worker
