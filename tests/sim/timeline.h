// Simulated time in milliseconds. Nothing happens between two planned actions, so time jumps from one to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace kq::sim {

// Runs planned actions in the order of their due times, and actions with the same due time in the order in which they
// were planned.
class Timeline {
 public:
  // The time at which every simulated world begins. It is not 0, because the broker's state has 0 for "not yet".
  static constexpr std::int64_t kBeginMs = 1'000'000;

  std::int64_t now_ms() const { return now_ms_; }

  // Plans `action` for the time that is `delay_ms` after now_ms().
  void after(std::int64_t delay_ms, std::function<void()> action) {
    actions_.emplace(std::pair(now_ms_ + delay_ms, action_count_++), std::move(action));
  }

  // Moves the time to the next action and runs it. Returns false if there is none.
  bool step() {
    if (actions_.empty()) return false;
    auto next = actions_.extract(actions_.begin());
    now_ms_ = next.key().first;
    next.mapped()();
    return true;
  }

 private:
  std::int64_t now_ms_ = kBeginMs;
  std::uint64_t action_count_ = 0;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> actions_;
};

}  // namespace kq::sim
