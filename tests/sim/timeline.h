// Simulated time: actions in order of when they are due, and of when they were asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace kq::sim {

class Timeline {
 public:
  static constexpr std::int64_t kBeginMs = 1'000'000;

  std::int64_t now_ms() const { return now_ms_; }

  void after(std::int64_t delay_ms, std::function<void()> action) {
    actions_.emplace(std::pair(now_ms_ + delay_ms, asked_n_++), std::move(action));
  }

  // Goes on to the next action and does it. False if there is none.
  bool step() {
    if (actions_.empty()) return false;
    auto next = actions_.extract(actions_.begin());
    now_ms_ = next.key().first;
    next.mapped()();
    return true;
  }

 private:
  std::int64_t now_ms_ = kBeginMs;
  std::uint64_t asked_n_ = 0;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::function<void()>> actions_;
};

}  // namespace kq::sim
