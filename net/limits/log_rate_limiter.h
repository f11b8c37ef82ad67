// Lines for the log about what others do to us: each subject once in a while, few in all, so that a flood cannot fill
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kq::net {

inline constexpr std::int64_t kNotesPeriodMs = 10'000;
inline constexpr std::size_t kNotesPerPeriod = 20;  // each of another subject

class FewNotes {
 public:
  // Keeps make_text(), unless this period has had a line about `subject` or all of its lines; then it is only counted.
  template <class MakeText>
  void add(std::string_view subject, std::int64_t now_ms, const MakeText& make_text) {
    if (admits(subject, now_ms)) lines_.push_back(make_text());
  }

  // What has come up since the last call; after a period that had more than its lines, how many those were.
  std::vector<std::string> take(std::int64_t now_ms);

 private:
  bool admits(std::string_view subject, std::int64_t now_ms);
  void begin_period(std::int64_t now_ms);

  std::vector<std::string> lines_;
  std::vector<std::string> subjects_;  // of this period
  std::uint64_t suppressed_count_ = 0;
  std::int64_t period_end_ms_ = 0;
};

}  // namespace kq::net
