#include "gpu_worker/compile/header_maker.h"

#include <algorithm>
#include <chrono>

#include "sys/clock.h"

namespace kq::worker {

HeaderMaker::Queue::iterator HeaderMaker::find(const Hash& group, const std::string& variant) {
  return std::ranges::find_if(
      queue_, [&](const Queued& each) { return each.order.group == group && each.order.variant == variant; });
}

// Returns the order to begin with: the first one that a build waits for, or else the first one.
HeaderMaker::Queue::iterator HeaderMaker::next() {
  const auto wanted =
      std::ranges::find_if(queue_, [](const Queued& each) { return !each.is_begun && !each.order.is_ahead; });
  return wanted != queue_.end() ? wanted
                                : std::ranges::find_if(queue_, [](const Queued& each) { return !each.is_begun; });
}

void HeaderMaker::request(HeaderOrder order) {
  const std::lock_guard lock(mutex_);
  const auto queued = find(order.group, order.variant);
  const bool is_queued = queued != queue_.end();
  if (is_queued) queued->order.is_ahead = queued->order.is_ahead && order.is_ahead;
  if (is_queued || queue_.size() >= kHeaderOrdersMax || failed_.contains({order.group, order.variant})) return;
  queue_.push_back({.order = std::move(order)});
  if (workers_.size() < std::min(at_once_, queue_.size())) {
    workers_.emplace_back([this, thread = workers_.size()](const std::stop_token& stop) { work(thread, stop); });
  }
  changed_.notify_all();
}

void HeaderMaker::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty(); });
}

void HeaderMaker::work(std::size_t thread, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return next() != queue_.end(); }) && !stop.stop_requested()) {
    const auto at = next();
    at->is_begun = true;
    const HeaderOrder order = at->order;
    lock.unlock();
    const bool is_made = make_(order, thread, stop);
    lock.lock();
    if (!is_made && failed_.size() < kFailedHeadersMax) failed_.insert({order.group, order.variant});
    queue_.erase(at);
    changed_.notify_all();
  }
}

HeaderMaker::Turn::Turn(HeaderMaker& maker, const Hash& group, const std::string& variant, const BuildTime& time)
    : maker_(maker) {
  std::unique_lock lock(maker.mutex_);
  const auto left =
      std::chrono::milliseconds(std::clamp<std::int64_t>(time.end_ms - sys::monotonic_now_ms(), 0, kHeaderWaitMsMax));
  const auto is_queued = [&] { return maker.find(group, variant) != maker.queue_.end(); };
  const auto is_in_time = maker.changed_.wait_for(lock, time.stop, left,
                                                  [&] { return maker.unaided_ < kUnaidedBuildsMax || !is_queued(); });
  is_unaided_ = is_in_time && is_queued();
  if (is_unaided_) ++maker.unaided_;
}

HeaderMaker::Turn::~Turn() {
  if (!is_unaided_) return;
  {
    const std::lock_guard lock(maker_.mutex_);
    --maker_.unaided_;
  }
  maker_.changed_.notify_all();
}

}  // namespace kq::worker
