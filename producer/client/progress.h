// Shows how many of the jobs that a program waits for are finished. A terminal shows one line that is rewritten in
// place; other outputs get a new line at intervals.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "producer/client/wait.h"
#include "sys/clock.h"

namespace kq::producer {

// Returns a line such as "[ 312/1000]  31% run 8 q 680 pass 240 fail 72 infra 0 4.1/s eta 02:48": finished jobs of all
// jobs, then running, queued, passed, failed and abandoned jobs, the rate and the time that is left. `elapsed_ms` is
// the duration of the wait so far, and `finished_before` is the number of jobs that were finished when the wait began;
// the rate does not count these.
std::string progress_text(const Tally& tally, std::int64_t elapsed_ms, std::size_t finished_before = 0);

// Returns a text such as "building 2 for 00:35", where the longest build in progress takes kLongBuildMs or more at the
// Unix time `unix_ms`, otherwise an empty text.
std::string build_text(const Tally& tally, std::int64_t unix_ms);
inline constexpr std::int64_t kLongBuildMs = 5'000;

// Returns a text such as "3 jobs wait: no worker has a cuda device", or an empty text if every queued job has a worker
// that takes it.
std::string unserved_text(const Tally& tally);

// Returns a text such as "1000 jobs: 900 passed, 72 wrong_answer, 28 timed_out". The verdicts are in the order of
// core/verdict.h, and unfinished jobs follow them.
std::string summary_text(const Tally& tally);

struct StatusLineOptions {
  std::function<void(std::string_view)> write;  // writes to standard error
  bool in_place = false;                        // whether the output is a terminal that understands \r and \x1b[K
  std::size_t columns = 80;
  std::function<std::int64_t()> unix_ms = sys::unix_now_ms;
};
// Returns options for standard error of this process. The line is rewritten in place when standard error is a terminal
// and TERM is not "dumb".
StatusLineOptions stderr_status_line();

// Writes the progress of a wait. WaitOptions::progress calls update(), and the destructor ends the line.
class StatusLine {
 public:
  StatusLine(StatusLineOptions options, std::int64_t start_ms);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void update(const Tally& tally, std::int64_t now_ms);
  // Ends the current line, so that other text can be written.
  void end();

 private:
  void note_unserved(const Tally& tally, std::int64_t now_ms);

  StatusLineOptions options_;
  std::int64_t start_ms_;
  std::optional<std::size_t> finished_before_;  // the number of finished jobs in the first tally
  std::int64_t last_line_ms_;
  std::size_t last_percent_ = 0;
  std::int64_t served_ms_;          // the last time at which workers could run every queued job
  std::vector<std::string> noted_;  // the requirements that the last sentence about unserved jobs named
  bool is_line_open_ = false;       // whether the cursor is behind a line that was written in place
};

}  // namespace kq::producer
