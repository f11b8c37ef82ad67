#include "tools/top/watcher.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace kq::tools {

Watcher::Watcher(producer::Client client, std::function<std::int64_t()> unix_now_ms, std::int64_t interval_ms)
    : unix_now_ms_(unix_now_ms), interval_ms_(interval_ms), source_(std::move(client), std::move(unix_now_ms)) {
  source_.client().stop_when([this] { return is_stopping_.load(); });
  // The thread inherits the blocked signals. Those of the terminal are for the thread that owns the screen.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { look_again_and_again(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watcher::~Watcher() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watcher::pause(bool paused) {
  const std::lock_guard lock(mutex_);
  if (is_paused_ == paused) return;
  is_paused_ = paused;
  changed_.notify_all();
}

Snapshot Watcher::snapshot() const {
  const std::lock_guard lock(mutex_);
  Snapshot snapshot = last_;
  const std::int64_t now_ms = unix_now_ms_();
  const std::int64_t answered_ms = source_.answered_at_ms();
  const bool waits_long = looking_since_ms_ != 0 && now_ms - std::max(answered_ms, looking_since_ms_) > kSilenceShownMs;
  if (is_silent_ || waits_long) snapshot.silent_ms = std::max<std::int64_t>(now_ms - answered_ms, 1);
  return snapshot;
}

std::uint64_t Watcher::look_count() const {
  const std::lock_guard lock(mutex_);
  return look_count_;
}

void Watcher::look_again_and_again() {
  Gatherer gatherer;
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    looking_since_ms_ = unix_now_ms_();
    lock.unlock();
    auto facts = gatherer.look(source_);
    lock.lock();
    looking_since_ms_ = 0;
    if (is_stopping_) return;
    ++look_count_;
    is_silent_ = !facts && facts.error().kind == ErrorKind::our_fault;
    last_.error = facts ? std::nullopt : std::optional(facts.error());
    if (facts) last_.facts = std::make_shared<const TopFacts>(*std::move(facts));
    const auto next = std::chrono::steady_clock::now() + std::chrono::milliseconds(interval_ms_);
    changed_.wait_until(lock, next, [&] { return is_stopping_.load(); });
    changed_.wait(lock, [&] { return is_stopping_ || !is_paused_; });
  }
}

}  // namespace kq::tools
