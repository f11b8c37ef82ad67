// Limits the number of log lines about the behaviour of peers, so that a flood of messages cannot fill the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kq::net {

inline constexpr std::int64_t kLogPeriodMs = 10'000;
inline constexpr std::size_t kLogLinesPerPeriod = 20;  // each line is about a different subject

// Keeps at most one log line per subject and kLogLinesPerPeriod lines in a period of kLogPeriodMs.
class LogRateLimiter {
 public:
  // Keeps the line make_text(), unless the current period already has a line about `subject` or kLogLinesPerPeriod
  // lines. A line that is not kept is counted.
  template <class MakeText>
  void add(std::string_view subject, std::int64_t now_ms, const MakeText& make_text) {
    if (admits(subject, now_ms)) lines_.push_back(make_text());
  }

  // Returns the lines kept since the last call. A period that suppressed lines adds one line with their number at its
  // end.
  std::vector<std::string> take(std::int64_t now_ms);

 private:
  bool admits(std::string_view subject, std::int64_t now_ms);
  void begin_period(std::int64_t now_ms);

  std::vector<std::string> lines_;
  std::vector<std::string> subjects_;  // subjects with a line in this period
  std::uint64_t suppressed_count_ = 0;
  std::int64_t period_end_ms_ = 0;
};

}  // namespace kq::net
