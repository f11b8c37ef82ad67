// The progress of a wait. On a terminal it is one line that is rewritten in place, and elsewhere a new line is written
// at intervals.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "producer/client/wait.h"

namespace kq::producer {

// "[ 312/1000]  31% run 8 q 680 pass 240 fail 72 infra 0 4.1/s eta 02:48"
// The rate counts the jobs that finished within `elapsed_ms`; `finished_before` jobs were finished at its start.
std::string progress_text(const Tally& tally, std::int64_t elapsed_ms, std::size_t finished_before = 0);

// "3 jobs wait: no worker has a cuda device". The text is empty when a worker can run every queued job.
std::string unserved_text(const Tally& tally);

// "1000 jobs: 900 passed, 72 wrong_answer, 28 timed_out". The verdicts are in the order of core/verdict.h, and
// unfinished jobs follow them.
std::string summary_text(const Tally& tally);

struct StatusLineOptions {
  std::function<void(std::string_view)> write;  // writes to standard error
  bool in_place = false;                        // whether the output is a terminal that understands \r and \x1b[K
  std::size_t columns = 80;
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
  bool open_ = false;               // whether the cursor is behind a line that was written in place
};

}  // namespace kq::producer
