#include "gpu_worker/limit.h"

#include <algorithm>

namespace kq {

std::int64_t limit_of(const Submission& submission, std::int64_t workers_ms) {
  return submission.time_limit_ms == 0 ? workers_ms : std::min<std::int64_t>(submission.time_limit_ms, workers_ms);
}

std::string limit_text(std::int64_t ms) { return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms"; }

}  // namespace kq
