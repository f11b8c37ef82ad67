// The time limit of a job, and how much of it is left for the parts of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/submission.h"

namespace kq::worker {

// Returns the smaller of the worker's limit and the submission's, if it has one.
std::int64_t limit_of(const Submission& submission, std::int64_t worker_limit_ms);

// Returns a limit for people: "120 s" or "1500 ms".
std::string limit_text(std::int64_t ms);

// A child needs about this long to be forked, to load and to be calibrated: with less time left no attempt is started.
inline constexpr std::int64_t kAnotherAttemptMs = 1'000;

// The time limit that all attempts of a run and its pass under a profiler have together. It begins with the first plan
// that the judge gets, because what the lane has to start before that is not the job's.
class RunTime {
 public:
  explicit RunTime(std::int64_t limit_ms) : limit_ms_(limit_ms) {}

  void begin(std::int64_t now_ms);  // only the first call has an effect
  std::int64_t limit_ms() const { return limit_ms_; }
  std::int64_t left_ms(std::int64_t now_ms) const;  // 0 once the limit is over
  // Whether there is time for another attempt that is expected to take `expected_ms`.
  bool has_room(std::int64_t now_ms, std::int64_t expected_ms) const;

 private:
  std::int64_t limit_ms_;
  std::optional<std::int64_t> end_ms_;
};

}  // namespace kq::worker
