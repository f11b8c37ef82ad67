#include "tools/views/run_pages.h"

#include <utility>

namespace kq::tools {

RunPages::RunPages(Source& source, RunQuery query)
    : source_(source), query_(std::move(query)), thread_([this] { read(); }) {}

RunPages::~RunPages() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Expected<RunReply> RunPages::next(RunReply spent) {
  std::unique_lock lock(mutex_);
  spent_.push_back(std::move(spent));
  changed_.wait(lock, [this] { return !ready_.empty(); });
  Expected<RunReply> page = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return page;
}

void RunPages::read() {
  for (bool goes_on = true; goes_on;) {
    std::vector<RunReply> spent;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || ready_.size() < kPagesAheadMax; });
      if (ends_) return;
      spent.swap(spent_);
    }
    spent.clear();
    Expected<RunReply> page = source_.run_page(query_);
    goes_on = page && page->more && !page->rows.empty();
    if (goes_on) query_.after_label = page->rows.back().entry.submission.label;
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(std::move(page));
    }
    changed_.notify_all();
  }
}

}  // namespace kq::tools
