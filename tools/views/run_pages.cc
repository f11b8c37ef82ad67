#include "tools/views/run_pages.h"

#include <utility>

namespace kq::tools {

RunPages::RunPages(Source& source, RunQuery query)
    : source_(source), query_(std::move(query)), thread_([this] { read(); }) {}

RunPages::~RunPages() {
  {
    const std::lock_guard lock(mutex_);
    stop_requested_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Expected<RunReply> RunPages::next(RunReply used_page) {
  std::unique_lock lock(mutex_);
  used_pages_.push_back(std::move(used_page));
  changed_.wait(lock, [this] { return !ready_.empty(); });
  Expected<RunReply> page = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return page;
}

void RunPages::read() {
  for (bool more = true; more;) {
    std::vector<RunReply> used_page;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_requested_ || ready_.size() < kPagesAheadMax; });
      if (stop_requested_) return;
      used_page.swap(used_pages_);
    }
    used_page.clear();
    Expected<RunReply> page = source_.run_page(query_);
    more = page && page->more && !page->rows.empty();
    if (more) query_.after_label = page->rows.back().entry.submission.label;
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(std::move(page));
    }
    changed_.notify_all();
  }
}

}  // namespace kq::tools
