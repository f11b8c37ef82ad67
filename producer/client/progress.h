// The status line of a wait, on a terminal one line rewritten in place, elsewhere a line now and then.
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
// The rate is of what finished in that time: `finished_before` jobs were when it began.
std::string progress_text(const Tally& tally, std::int64_t elapsed_ms, std::size_t finished_before = 0);

// "3 jobs wait: no worker has a cuda device"; empty when every queued job is served.
std::string unserved_text(const Tally& tally);

// "1000 jobs: 900 passed, 72 wrong_answer, 28 timed_out", verdicts in the order of core/verdict.h; unfinished ones
// last.
std::string summary_text(const Tally& tally);

struct StatusLineOptions {
  std::function<void(std::string_view)> write;  // to standard error
  bool in_place = false;                        // a terminal that understands \r and \x1b[K
  std::size_t columns = 80;
};
// For the process's standard error: in place when it is a terminal and TERM is not dumb.
StatusLineOptions stderr_status_line();

// Give its update() to WaitOptions::progress. Ends its line when it goes.
class StatusLine {
 public:
  StatusLine(StatusLineOptions options, std::int64_t start_ms);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void update(const Tally& tally, std::int64_t now_ms);
  // Leaves the line as it is and goes to the next one, before anything else is written.
  void end();

 private:
  void note_unserved(const Tally& tally, std::int64_t now_ms);

  StatusLineOptions options_;
  std::int64_t start_ms_;
  std::optional<std::size_t> finished_before_;  // by the first tally
  std::int64_t last_line_ms_;
  std::size_t last_percent_ = 0;
  std::int64_t served_ms_;          // when every queued job was last served
  std::vector<std::string> noted_;  // what the last sentence about unserved jobs named
  bool open_ = false;               // the cursor stands behind a line written in place
};

}  // namespace kq::producer
