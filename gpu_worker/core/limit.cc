#include "gpu_worker/core/limit.h"

#include <algorithm>

namespace kq::worker {

std::int64_t limit_of(const Submission& submission, std::int64_t worker_limit_ms) {
  return submission.time_limit_ms == 0 ? worker_limit_ms
                                       : std::min<std::int64_t>(submission.time_limit_ms, worker_limit_ms);
}

std::string limit_text(std::int64_t ms) {
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

void RunTime::begin(std::int64_t now_ms) {
  if (!end_ms_) end_ms_ = now_ms + limit_ms_;
}

std::int64_t RunTime::left_ms(std::int64_t now_ms) const {
  return end_ms_ ? std::max<std::int64_t>(*end_ms_ - now_ms, 0) : limit_ms_;
}

bool RunTime::has_room(std::int64_t now_ms, std::int64_t expected_ms) const {
  return left_ms(now_ms) >= std::max(expected_ms, kAnotherAttemptMs);
}

}  // namespace kq::worker
