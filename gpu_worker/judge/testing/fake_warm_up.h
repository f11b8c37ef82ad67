// A warm-up of another child, and waiting for another thread, for tests of the judge.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <functional>
#include <utility>

#include "gpu_worker/judge/testing/fake_problem.h"
#include "gpu_worker/judge/timing/concurrent_warm_ups.h"

namespace kq::judge {

// How long a test waits for another thread. Only a failure takes so long.
inline constexpr int kWaitMaxMs = 60'000;

// Waits until `condition` is true and returns whether it has become true within `limit_ms`.
inline bool wait_for(const std::function<bool()>& condition, int limit_ms = kWaitMaxMs) {
  for (int ms = 0; !condition() && ms < limit_ms; ++ms) ::usleep(1'000);
  return condition();
}

// A concurrent warm-up that runs from start() to finish().
class FakeWarmUp {
 public:
  explicit FakeWarmUp(JudgeFixture& fixture, std::int64_t wait_max_ms = 50)
      : concurrent_warm_ups_(std::move(*channel::WarmUpPage::map(sys::Fd(::dup(control_.fd())))),
                             wait_max_ms * 1'000'000) {
    fixture.device->set_concurrent_warm_ups(&concurrent_warm_ups_);
  }
  void start() { control_.set_running(0, true); }
  void finish() { control_.set_running(0, false); }
  bool is_running() const { return concurrent_warm_ups_.any(); }
  bool is_untimed() const { return control_.is_untimed(); }

 private:
  channel::WarmUpPage control_ = std::move(*channel::WarmUpPage::make());
  ConcurrentWarmUps concurrent_warm_ups_;
};

}  // namespace kq::judge
