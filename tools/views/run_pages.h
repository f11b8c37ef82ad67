// Reads the pages of a run on a thread of its own, ahead of the thread that uses them, so that reading and writing a
// million rows use two cores.
//
// The reading thread keeps at most kPagesAheadMax pages ready. Used pages go back to the reading thread, which
// allocated them, to be destroyed there. There is one thread for all pages: with a thread for each page, the allocator
// returns the thread's memory to the system when it ends, which takes as long as reading the page.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tools/cli/source.h"

namespace kq::tools {

inline constexpr std::size_t kPagesAheadMax = 3;

// The pages of one run, from the position of the query on. No other thread may use the source meanwhile.
class RunPages {
 public:
  RunPages(Source& source, RunQuery query);  // the source must outlive this object
  RunPages(const RunPages&) = delete;
  RunPages& operator=(const RunPages&) = delete;
  ~RunPages();  // waits for the page that is being read

  // Returns the next page, in order. Must not be called again after an Error or after the last page. `used_page` is the
  // page before, or an empty one, which the reading thread destroys.
  Expected<RunReply> next(RunReply used_page);

 private:
  void read();

  Source& source_;
  RunQuery query_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Expected<RunReply>> ready_;  // at most kPagesAheadMax pages
  std::vector<RunReply> used_pages_;
  bool stop_requested_ = false;
  std::thread thread_;  // the last member, so that the thread starts when all others are initialised
};

}  // namespace kq::tools
