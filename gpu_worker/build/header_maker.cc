#include "gpu_worker/build/header_maker.h"

#include <utility>

namespace kq {

void HeaderMaker::want(const Hash& header, Make make) {
  const std::lock_guard lock(mutex_);
  if (is_busy_ || failed_.contains(header)) return;
  is_busy_ = true;
  if (failed_.size() >= kFailedMax) failed_.clear();
  // The last one has said that it is done, and only has to end.
  thread_ = std::jthread([this, header, make = std::move(make)](const std::stop_token& stop) {
    const auto made = make(stop);
    const std::lock_guard done(mutex_);
    if (made && !*made) failed_.insert(header);
    is_busy_ = false;
  });
}

bool HeaderMaker::is_making() {
  const std::lock_guard lock(mutex_);
  return is_busy_;
}

}  // namespace kq
