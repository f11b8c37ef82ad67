#include "gpu_worker/compile/header_maker.h"

#include <algorithm>

namespace kq::worker {

void HeaderMaker::request(HeaderOrder order) {
  const std::lock_guard lock(mutex_);
  const auto queued = std::ranges::find_if(
      queue_, [&](const HeaderOrder& known) { return known.group == order.group && known.variant == order.variant; });
  const bool is_queued = queued != queue_.end();
  if (is_queued) queued->is_ahead = queued->is_ahead && order.is_ahead;
  if (is_queued || queue_.size() >= kHeaderOrdersMax || failed_.contains({order.group, order.variant})) return;
  queue_.push_back(std::move(order));
  if (!worker_.joinable()) worker_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  changed_.notify_all();
}

void HeaderMaker::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty(); });
}

void HeaderMaker::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !queue_.empty(); }) && !stop.stop_requested()) {
    const HeaderOrder order = queue_.front();
    lock.unlock();
    const bool is_made = make_(order, stop);
    lock.lock();
    if (!is_made && failed_.size() < kFailedHeadersMax) failed_.insert({order.group, order.variant});
    queue_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace kq::worker
