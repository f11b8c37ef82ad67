#include "gpu_worker/lane/archive_ahead.h"

namespace kq::worker {

std::optional<std::stop_token> ArchiveAhead::begin() {
  if (is_running_ || has_ended_ || begins_ == kArchiveBeginsMax) return std::nullopt;
  ++begins_;
  stop_ = std::stop_source();
  is_running_ = true;
  return stop_.get_token();
}

void ArchiveAhead::end(const std::stop_token& stop) {
  if (!stop.stop_requested()) has_ended_ = true;
  is_running_ = false;
}

}  // namespace kq::worker
