// Times that queued jobs wait for: when a job may run (its not-before time, or the pause after a failure), and when it
// expires.
//
// The timers themselves are in the store's family `timer`. This table knows only when the earliest fires and how many
// jobs wait to run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "store/keys.h"

namespace kq::broker {

class Timers {
 public:
  void set(const store::TimerPlace& place) {
    next_ms_ = std::min(place.at_ms, next_ms_.value_or(place.at_ms));
    // The clock may have gone back over a restart: then a new timer can lie before those that were deleted.
    first_key_ = std::min(first_key_, store::timer_key(place));
    if (place.kind == store::TimerKind::may_run) ++waiting_count_;
  }
  void clear(const store::TimerPlace& place) {
    if (place.kind == store::TimerKind::may_run) --waiting_count_;
  }
  // Adds a timer that is in the store. Called at a restart, in the order of the keys.
  void restore(const store::TimerPlace& place, std::string_view key) {
    if (!next_ms_) {
      next_ms_ = place.at_ms;
      first_key_ = key;
    }
    if (place.kind == store::TimerKind::may_run) ++waiting_count_;
  }

  // Firing: the due timers are about to be deleted, and the earliest of the others is at `later_ms`.
  void begin_firing(std::optional<std::int64_t> later_ms) { next_ms_ = later_ms; }
  // The due timer `place` is deleted. A job that waited for it is subtracted by count_activated().
  void fired(const store::TimerPlace& place) { first_key_ = store::timer_key(place) + '\0'; }
  // A waiting job may run now.
  void count_activated() { --waiting_count_; }

  // The time of the earliest timer. It may be too early, because a cleared timer is not subtracted, but never too late.
  std::optional<std::int64_t> next_ms() const { return next_ms_; }
  // Every timer in the store is at or after this key, so scans need not pass over deleted records.
  const std::string& first_key() const { return first_key_; }
  std::uint64_t waiting_count() const { return waiting_count_; }  // queued jobs that may not run yet

 private:
  std::string first_key_;
  std::optional<std::int64_t> next_ms_;
  std::uint64_t waiting_count_ = 0;
};

}  // namespace kq::broker
