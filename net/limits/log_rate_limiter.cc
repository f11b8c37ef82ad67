#include "net/limits/log_rate_limiter.h"

#include <algorithm>
#include <utility>

namespace kq::net {

std::vector<std::string> LogRateLimiter::take(std::int64_t now_ms) {
  begin_period(now_ms);
  return std::exchange(lines_, {});
}

bool LogRateLimiter::admits(std::string_view subject, std::int64_t now_ms) {
  begin_period(now_ms);
  const bool is_known = std::find(subjects_.begin(), subjects_.end(), subject) != subjects_.end();
  if (is_known || subjects_.size() == kLogLinesPerPeriod) {
    ++suppressed_count_;
    return false;
  }
  subjects_.emplace_back(subject);
  return true;
}

void LogRateLimiter::begin_period(std::int64_t now_ms) {
  if (now_ms < period_end_ms_) return;
  if (suppressed_count_ > 0) {
    lines_.push_back(std::to_string(suppressed_count_) + " more lines of this kind were suppressed within " +
                     std::to_string(kLogPeriodMs / 1000) + " s");
  }
  suppressed_count_ = 0;
  subjects_.clear();
  period_end_ms_ = now_ms + kLogPeriodMs;
}

}  // namespace kq::net
