#include "gpu_worker/judge/timing/concurrent_warm_ups.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

TEST(ConcurrentWarmUps, are_those_that_the_control_process_reports) {
  channel::WarmUpPage control = *channel::WarmUpPage::make();
  const ConcurrentWarmUps warm_ups(*channel::WarmUpPage::map(sys::Fd(::dup(control.fd()))));
  EXPECT_FALSE(warm_ups.any());
  control.set_running(2, true);
  EXPECT_TRUE(warm_ups.any());
  control.set_running(2, false);
  EXPECT_FALSE(warm_ups.any());
  warm_ups.wait();
}

TEST(ConcurrentWarmUps, are_waited_for) {
  channel::WarmUpPage control = *channel::WarmUpPage::make();
  const ConcurrentWarmUps warm_ups(*channel::WarmUpPage::map(sys::Fd(::dup(control.fd()))));
  control.set_running(0, true);
  std::thread warm([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    control.set_running(0, false);
  });
  warm_ups.wait();
  EXPECT_FALSE(warm_ups.any());
  warm.join();
}

}  // namespace
}  // namespace kq::judge
