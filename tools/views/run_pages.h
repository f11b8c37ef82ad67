// The pages of a run, read ahead of whoever visits them: what reads a million rows and what writes them share two
// cores.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tools/cli/source.h"

namespace kq::tools {

inline constexpr std::size_t kPagesAheadMax = 3;

// One thread for all pages of a run. One for each page was tried: the allocator gives a thread's memory back to the
// system when it ends, and that took as long as the reading. While this lives its thread alone asks the source.
class RunPages {
 public:
  RunPages(Source& source, RunQuery query);  // from the query's place on; the source outlives it
  RunPages(const RunPages&) = delete;
  RunPages& operator=(const RunPages&) = delete;
  ~RunPages();  // waits for the page that is being read

  // In their order; none is to be asked for after an Error or the last. `used_page` is the page before, or an empty one:
  // the thread that made it takes it apart.
  Expected<RunReply> next(RunReply used_page);

 private:
  void read();

  Source& source_;
  RunQuery query_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Expected<RunReply>> ready_;  // at most kPagesAheadMax
  std::vector<RunReply> used_pages_;
  bool stop_requested_ = false;
  std::thread thread_;  // last: it starts when everything above is there
};

}  // namespace kq::tools
